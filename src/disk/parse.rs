//! The answers of `docker/disk.sh`.

use super::AttachedDisk;

/// `disk NODE LOWER UPPER READ_AHEAD_KB DIRECT_IO`
pub(super) fn attached(line: &str) -> Option<AttachedDisk> {
    let mut words = line.strip_prefix("disk ")?.split_whitespace();
    let mut word = || words.next().map(str::to_owned);
    Some(AttachedDisk {
        node: word()?,
        lower: word().filter(|device| is_loop(device))?,
        upper: word().filter(|device| is_loop(device))?,
        read_ahead_kb: word()?.parse().ok()?,
        direct_io: match word()?.as_str() {
            "1" => true,
            "0" => false,
            _ => return None,
        },
    })
}

fn is_loop(device: &str) -> bool {
    device
        .strip_prefix("/dev/loop")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// `space AVAILABLE_KB`, in bytes.
pub(super) fn space(line: &str) -> Option<u64> {
    line.strip_prefix("space ")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// An image file: its name, the bytes it takes on disk, and when it was last written, in seconds since 1970.
pub(super) type ImageFile = (String, u64, i64);

/// `file NAME BYTES_ON_DISK MODIFIED_UNIX`
pub(super) fn image_file(line: &str) -> Option<ImageFile> {
    let mut words = line.strip_prefix("file ")?.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attached_disk_is_read_and_anything_else_is_not() {
        let disk = attached("disk standby /dev/loop4 /dev/loop15 128 1");
        let expected = AttachedDisk {
            node: "standby".to_owned(),
            lower: "/dev/loop4".to_owned(),
            upper: "/dev/loop15".to_owned(),
            read_ahead_kb: 128,
            direct_io: true,
        };
        assert_eq!(expected.upper_name(), "loop15");
        assert_eq!(disk, Some(expected));
        for other in [
            "disk standby /dev/loop4 /dev/sda 128 1",
            "disk standby /dev/loop4 /dev/loop 128 1",
            "disk standby /dev/loop4 /dev/loop5 128",
            "disk standby /dev/loop4 /dev/loop5 x 1",
            "disk standby /dev/loop4 /dev/loop5 128 yes",
            "losetup: cannot find an unused loop device",
        ] {
            assert_eq!(attached(other), None, "{other}");
        }
    }

    #[test]
    fn space_is_in_bytes_and_files_have_size_and_time() {
        assert_eq!(space("space 1048576"), Some(1 << 30));
        assert_eq!(space("space -"), None);
        let file = image_file("file golden-180006-s20-checksums.img 52428800 1796061012");
        assert_eq!(file, Some(("golden-180006-s20-checksums.img".to_owned(), 52_428_800, 1_796_061_012)));
        assert_eq!(image_file("file golden.img 5"), None);
    }
}
