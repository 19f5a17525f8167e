internal import LosslessJSON

/// Rows of a changes feed as sent by gateways, identical in every run: tasks, lists, users, tombstones, and tasks with
/// pictures.
struct ChangeRows {
    private var random = LinearCongruentialGenerator(state: 17)
    private var rowNumber = 0

    mutating func next() -> [UInt8] {
        rowNumber += 1
        let isDeleted = random.next(below: 20) == 0
        let revision = "\(1 + random.next(below: 9))-\(hex(digits: 32))"
        let id = "\(["task", "list", "user"][random.next(below: 10) / 4])-\(hex(digits: 8))-\(rowNumber)"
        var writer = JSONWriter(minimumCapacity: 1024)
        writer.object { row in
            row.member("seq", integer: rowNumber)
            row.member("id", string: id)
            row.name("changes")
            row.array { $0.object { $0.member("rev", string: revision) } }
            if isDeleted { row.member("deleted", bool: true) }
            row.name("doc")
            row.object { document in
                document.member("_id", string: id)
                document.member("_rev", string: revision)
                if isDeleted { document.member("_deleted", bool: true) } else { writeTask(to: &document) }
            }
        }
        return writer.bytes
    }

    private mutating func writeTask(to document: inout JSONWriter) {
        document.member("type", string: "task")
        document.member("task", string: "Buy \(word()) and \(word()) before \(word())")
        document.member("complete", bool: random.next(below: 2) == 0)
        document.member(
            "createdAt", string: "2026-11-\(10 + random.next(below: 20))T10:\(10 + random.next(below: 50)):00Z")
        document.name("taskList")
        document.object { list in
            list.member("id", string: "list-\(hex(digits: 8))")
            list.member("owner", string: "user\(random.next(below: 1000))")
        }
        document.member("priority", integer: random.next(below: 5))
        document.name("tags")
        document.array { tags in for _ in 0..<random.next(below: 4) { tags.string(word()) } }
        if random.next(below: 3) == 0 {
            document.name("_attachments")
            document.object { attachments in
                attachments.name("image")
                attachments.object { image in
                    image.member("content_type", string: "image/png")
                    image.member("digest", string: "sha1-\(hex(digits: 27))=")
                    image.member("length", integer: random.next(below: 100_000))
                    image.member("revpos", integer: 2)
                    image.member("stub", bool: true)
                }
            }
        }
    }

    private mutating func word() -> String {
        ["apples", "coffee", "potatoes", "bread", "milk", "oranges", "the newspaper", "tea"][random.next(below: 8)]
    }

    private mutating func hex(digits: Int) -> String {
        var result = ""
        for _ in 0..<digits {
            result.append(Character(Unicode.Scalar(Array("0123456789abcdef".utf8)[random.next(below: 16)])))
        }
        return result
    }
}

/// A small, fast generator with the same numbers on every machine.
struct LinearCongruentialGenerator {
    var state: UInt64

    mutating func next(below limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }
}
