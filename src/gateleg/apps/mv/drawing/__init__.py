"""Draw scenes from texts: elements, colours, camera, grading and lettering."""
