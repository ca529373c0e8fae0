//! Makes pictures suitable for every provider, in a worker process.
//!
//! A picture comes from a person, a model or a web page. Its decoder may take a lot of memory and time, so the daemon
//! never decodes one. A provider refuses a request with a broken or too large picture, and would also refuse each later
//! request of the conversation.

use std::io::{self, Cursor};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits};
use serde::{Deserialize, Serialize};

use super::error::ToolError;
use super::work::{self, Work};
use crate::domain::{AgentId, Image};
use crate::exec::{WorkError, WorkLimits, Workers};

/// Bytes of a picture that every provider accepts: Anthropic counts 5 MiB of its Base64.
const LARGEST: usize = (5 << 20) / 4 * 3;

/// Longest edge in pixels that every provider accepts, even in a request with many pictures. The provider scales larger
/// ones down.
const LONGEST_EDGE: u32 = 2_000;

/// Longest edge that is decoded.
const LONGEST_DECODED: u32 = 20_000;

/// Most bytes that a decoder may allocate: 100 million pixels.
const DECODED: u64 = 400 << 20;

/// Limits of the worker: the decoded picture, and the smaller one beside it.
const LIMITS: WorkLimits = WorkLimits {
    memory: 512 << 20,
    seconds: 15,
    file_size: 0,
};

/// Quality of a JPEG that is written.
const QUALITY: u8 = 85;

/// Makes a picture suitable: decodes it, and writes it again if it is too large.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fit;

/// Returns the media type of a picture that models can see, by its first bytes.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let kind = infer::get(bytes)?.mime_type();
    ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .into_iter()
        .find(|known| *known == kind)
}

/// Makes a picture suitable for every provider.
///
/// # Errors
///
/// Fails with [`WorkError::Refused`], which says why the picture cannot be sent.
pub async fn fit(workers: &Workers, agent: AgentId, bytes: &[u8]) -> Result<Image, WorkError> {
    let answer = workers
        .run(agent, LIMITS, work::order(&Fit)?, bytes)
        .await?;
    serde_json::from_str(&answer).map_err(|error| WorkError::Failed(error.to_string()))
}

impl Work for Fit {
    const NAME: &'static str = "picture";
    const LIMITS: WorkLimits = LIMITS;

    fn run(self, bytes: &[u8]) -> Result<String, ToolError> {
        let image = fitted(bytes).map_err(|error| ToolError::rejected(error.to_string()))?;
        serde_json::to_string(&image).map_err(ToolError::failed)
    }
}

/// Why a picture cannot be sent.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("it is not a whole picture ({0})")]
    Broken(#[from] image::ImageError),
    #[error("it is not a whole picture ({0})")]
    Unread(#[from] io::Error),
    #[error("its format is not known")]
    UnknownFormat,
}

fn fitted(bytes: &[u8]) -> Result<Image, Unusable> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let format = reader.format().ok_or(Unusable::UnknownFormat)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_DECODED);
    limits.max_image_height = Some(LONGEST_DECODED);
    limits.max_alloc = Some(DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    let is_small = picture.width().max(picture.height()) <= LONGEST_EDGE;
    if is_small && bytes.len() <= LARGEST {
        return Ok(image(format.to_mime_type(), bytes));
    }
    picture.apply_orientation(orientation);
    let mut edge = LONGEST_EDGE;
    loop {
        let smaller = if picture.width().max(picture.height()) > edge {
            picture.thumbnail(edge, edge)
        } else {
            picture.clone()
        };
        let (media_type, written) = written(&smaller)?;
        if written.len() <= LARGEST {
            return Ok(image(media_type, &written));
        }
        edge /= 2;
    }
}

/// Returns the picture as a file: a PNG if that is small enough, which keeps text sharp and transparency, otherwise a
/// JPEG.
fn written(picture: &DynamicImage) -> Result<(&'static str, Vec<u8>), image::ImageError> {
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, ImageFormat::Png)?;
    let png = png.into_inner();
    if png.len() <= LARGEST / 2 {
        return Ok(("image/png", png));
    }
    let mut jpeg = Vec::new();
    picture
        .to_rgb8()
        .write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, QUALITY))?;
    Ok(("image/jpeg", jpeg))
}

fn image(media_type: &str, bytes: &[u8]) -> Image {
    Image {
        media_type: media_type.to_owned(),
        data: STANDARD.encode(bytes),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use image::{Rgb, RgbImage};

    use super::*;

    /// Returns a picture that no format can compress.
    fn noise(width: u32, height: u32) -> RgbImage {
        let mut state = 1_u32;
        RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [a, b, c, _] = state.to_be_bytes();
            Rgb([a, b, c])
        })
    }

    fn png(picture: &RgbImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_picture_that_fits_is_not_changed() {
        let bytes = png(&noise(300, 200));
        let fitted = fitted(&bytes).unwrap();
        assert_eq!(fitted, image("image/png", &bytes));
    }

    #[test]
    fn a_picture_that_is_too_large_is_made_smaller() {
        for (width, height) in [(1_600, 1_600), (2_600, 40), (12, 9_000)] {
            let bytes = png(&noise(width, height));
            let fitted = fitted(&bytes).unwrap();
            assert!(fitted.data.len() <= 5 << 20, "{width}x{height}");
            let data = STANDARD.decode(&fitted.data).unwrap();
            let again = image::load_from_memory(&data).unwrap();
            assert!(
                again.width().max(again.height()) <= LONGEST_EDGE,
                "{width}x{height}"
            );
        }
    }

    #[test]
    fn what_is_no_whole_picture_is_refused() {
        let whole = png(&noise(300, 200));
        let cut = &whole[..whole.len() / 2];
        for bytes in [
            cut,
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            b"GIF89a",
            b"text",
            b"",
        ] {
            assert!(fitted(bytes).is_err(), "{:?}", &bytes[..bytes.len().min(9)]);
        }
    }

    #[test]
    fn a_picture_that_would_take_gigabytes_is_refused() {
        let mut bytes = png(&noise(2, 2));
        // The width and height of the header, and no more data for them.
        bytes[16..24].copy_from_slice(&[0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20]);
        assert!(fitted(&bytes).is_err());
    }
}
