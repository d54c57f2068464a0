"""How words become pictures: elements, colours, camera, finish and lettering."""
