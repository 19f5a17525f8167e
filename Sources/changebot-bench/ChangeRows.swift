internal import LosslessJSON

/// Rows of a changes feed as gateways send them, the same in every run. Blocks of about 1 MiB hold as many whole rows
/// as fit, separated by ",
/// ".
struct ChangeRows {
    enum Flavour: String, CaseIterable {
        /// Tasks, lists, users, tombstones, and tasks with pictures.
        case mixed = "todo tasks, mixed"
        /// Large nested documents full of numbers.
        case documents = "document-heavy"
        /// Every other string has escapes or characters outside ASCII.
        case text = "escapes and UTF-8"
    }

    struct Block {
        var bytes: [UInt8] = []
        var rows: [Range<Int>] = []
    }

    private(set) var blocks: [Block] = []
    private(set) var rowCount = 0
    private(set) var byteCount = 0
    private var random: LinearCongruentialGenerator

    init(_ flavour: Flavour, byteCount target: Int) {
        random = LinearCongruentialGenerator(state: UInt64(flavour.rawValue.utf8.count))
        while byteCount < target {
            var block = Block()
            block.bytes.reserveCapacity(1 << 20)
            while block.bytes.count < (1 << 20) - 4096 {
                if !block.bytes.isEmpty { block.bytes.append(contentsOf: ",\n".utf8) }
                let start = block.bytes.count
                block.bytes.append(contentsOf: row(flavour))
                block.rows.append(start..<block.bytes.count)
            }
            rowCount += block.rows.count
            byteCount += block.bytes.count
            blocks.append(block)
        }
    }

    private mutating func row(_ flavour: Flavour) -> [UInt8] {
        rowNumber += 1
        let isDeleted = flavour == .mixed && random.next(below: 20) == 0
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
                if isDeleted { return document.member("_deleted", bool: true) }
                switch flavour {
                case .mixed: writeTask(to: &document)
                case .documents: writeSurvey(to: &document)
                case .text: writeNote(to: &document)
                }
            }
        }
        return writer.bytes
    }

    private var rowNumber = 0

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

    private mutating func writeSurvey(to document: inout JSONWriter) {
        document.member("type", string: "survey")
        document.name("points")
        document.array { points in
            for _ in 0..<12 {
                points.object { point in
                    point.member(
                        "at", raw: "[\(random.next(below: 180)).\(random.next(below: 1_000_000)),-7.25e-1]".utf8)
                    point.member("weight", integer: random.next(below: 1_000_000))
                    point.member("label", string: word())
                    point.member("checked", bool: random.next(below: 2) == 0)
                    point.member("note", raw: "null".utf8)
                }
            }
        }
    }

    private mutating func writeNote(to document: inout JSONWriter) {
        document.member("type", string: "note")
        for name in ["titel", "überschrift", "本文", "kommentar"] {
            document.member(name, string: "„\(word())“ — été, naïve résumé\n\t\"\(word())\" \\ 日本語のメモ 😀 \(word())")
        }
        document.member("escaped", raw: #""caf\u00e9 \ud83d\ude00 \u0041 \/path\/to""#.utf8)
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
