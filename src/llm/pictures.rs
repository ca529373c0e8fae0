//! Limits the pictures of a request: their number and their total size, as vendors count them.
//!
//! The newest pictures stay. A line of text replaces each older one.

use std::sync::Arc;

use super::provider::named;
use crate::domain::{Image, Item};

/// How many pictures, and how many bytes of Base64 in total, a request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureBounds {
    pub count: usize,
    pub bytes: usize,
}

/// For a server with unknown bounds; the bounds are learned from its refusals.
impl Default for PictureBounds {
    fn default() -> Self {
        Self {
            count: 50,
            bytes: 16 << 20,
        }
    }
}

impl PictureBounds {
    /// Returns the smaller of both bounds.
    #[must_use]
    pub(super) fn at_most(self, count: Option<usize>, bytes: Option<usize>) -> Self {
        Self {
            count: count.map_or(self.count, |most| most.min(self.count)),
            bytes: bytes.map_or(self.bytes, |most| most.min(self.bytes)),
        }
    }

    /// Returns how many of the oldest pictures of these sizes are left out.
    ///
    /// Several at a time, so that the beginning of a conversation at its bound does not change with each new picture:
    /// providers cache it.
    fn left_out(self, sizes: &[usize]) -> usize {
        let mut bytes = 0_usize;
        let kept = sizes
            .iter()
            .rev()
            .take(self.count)
            .take_while(|size| {
                bytes = bytes.saturating_add(**size);
                bytes <= self.bytes
            })
            .count();
        let needed = sizes.len() - kept;
        if needed == 0 || kept == 0 {
            return needed;
        }
        let at_once = (self.count / 4).max(1);
        needed.next_multiple_of(at_once).min(sizes.len() - 1)
    }
}

/// Returns the pictures of a conversation, oldest first.
pub(super) fn all(items: &[Item]) -> impl Iterator<Item = &Image> {
    items.iter().flat_map(|item| match item {
        Item::User(user) => user.images.as_slice(),
        Item::ToolResult(result) => result.images.as_slice(),
        Item::Assistant(_) => &[],
    })
}

/// Returns `items` with as many pictures as `bounds` allows.
pub(super) fn within(items: &Arc<Vec<Item>>, bounds: PictureBounds) -> Arc<Vec<Item>> {
    let sizes: Vec<usize> = all(items).map(|picture| picture.data.len()).collect();
    let mut left_out = bounds.left_out(&sizes);
    if left_out == 0 {
        return Arc::clone(items);
    }
    let mut items = items.as_ref().clone();
    for item in &mut items {
        let (images, text) = match item {
            Item::User(user) => (&mut user.images, user.facts.get_or_insert_default()),
            Item::ToolResult(result) => (&mut result.images, &mut result.content),
            Item::Assistant(_) => continue,
        };
        let here = left_out.min(images.len());
        left_out -= here;
        let lines = images.drain(..here).map(|picture| line(&picture));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&lines.join("\n"));
        } else if let Item::User(user) = item {
            user.facts.take_if(|facts| facts.is_empty());
        }
    }
    Arc::new(items)
}

fn line(picture: &Image) -> String {
    format!("{}, left out: newer ones take its place", named(picture))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::domain::{CallId, ToolResult, UserText};

    fn picture(size: usize) -> Image {
        Image {
            media_type: "image/png".to_owned(),
            data: "a".repeat(size),
        }
    }

    fn shown(sizes: &[usize]) -> Item {
        Item::User(UserText {
            text: "look".to_owned(),
            images: sizes.iter().copied().map(picture).collect(),
            ..UserText::default()
        })
    }

    fn result(sizes: &[usize]) -> Item {
        Item::ToolResult(ToolResult {
            call_id: CallId("a".to_owned()),
            name: "view".to_owned(),
            content: "seen".to_owned(),
            images: sizes.iter().copied().map(picture).collect(),
            ..ToolResult::default()
        })
    }

    fn sizes_within(items: Vec<Item>, count: usize, bytes: usize) -> Vec<usize> {
        let items = within(&Arc::new(items), PictureBounds { count, bytes });
        all(&items).map(|picture| picture.data.len()).collect()
    }

    #[test]
    fn the_newest_pictures_stay() {
        let items = || vec![shown(&[1, 2]), result(&[3]), shown(&[4])];
        for (count, bytes, left) in [
            (4, 100, vec![1, 2, 3, 4]),
            (3, 100, vec![2, 3, 4]),
            (1, 100, vec![4]),
            (0, 100, vec![]),
            (4, 9, vec![2, 3, 4]),
            (4, 4, vec![4]),
            (4, 3, vec![]),
        ] {
            assert_eq!(sizes_within(items(), count, bytes), left, "{count} {bytes}");
        }
    }

    #[test]
    fn a_line_stands_in_the_place_of_each() {
        let items = within(
            &Arc::new(vec![shown(&[4096]), result(&[3]), shown(&[])]),
            PictureBounds { count: 0, bytes: 9 },
        );
        let first = match &items[0] {
            Item::User(user) => user.for_model(),
            other => other.text().to_owned(),
        };
        assert!(first.contains("a picture (image/png, 3 KiB), left out"));
        assert!(
            items[1]
                .text()
                .starts_with("seen\na picture (image/png, 0 KiB)")
        );
        assert_eq!(items[2], shown(&[]));
    }

    #[test]
    fn several_are_left_out_at_once() {
        let left = |count: usize| {
            let items = (0..count).map(|_| shown(&[1])).collect();
            sizes_within(items, 20, 100).len()
        };
        assert_eq!((left(20), left(21), left(25), left(26)), (20, 16, 20, 16));
    }
}
