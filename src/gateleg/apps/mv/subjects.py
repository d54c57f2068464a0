"""Who and what a film shows: its character and its product, in words and as pictures. Pure functions.

All renders, models, pages and texts ask these functions, so that a scene shows the same subjects whoever makes its clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.mv.tables import Mode

if TYPE_CHECKING:
    from gateleg.apps.mv.tables import Project, Scene


@dataclass(frozen=True, slots=True)
class Subjects:
    """The subjects of a scene. A subject without words and without a picture is not shown."""

    character: str | None = None
    product: str | None = None
    #: object keys of their pictures
    character_picture: str | None = None
    product_picture: str | None = None
    #: object keys of all reference pictures of the scene, the most important first
    pictures: tuple[str, ...] = ()


def subjects_of(project: Project, scene: Scene | None = None) -> Subjects:
    """The subjects of a scene, or of the whole film.

    The scene's own reference pictures come first, and the first of them is drawn instead of the character's picture. Then come the
    pictures of character and product; in an ad, the product's first.
    """
    own = tuple(scene.reference_image_s3_keys) if scene is not None else ()
    character, product = project.character_image_s3_key, project.product_image_s3_key
    usual = (product, character) if project.mode is Mode.AD_CREATIVE else (character, product)
    return Subjects(
        character=project.character_description or ("The character" if character else None),
        product=project.product_description or ("The product" if product else None),
        character_picture=next((key for key in own if key != product), character),
        product_picture=product,
        pictures=tuple(dict.fromkeys(key for key in (*own, *usual) if key is not None)),
    )
