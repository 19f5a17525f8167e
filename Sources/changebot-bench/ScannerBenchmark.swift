internal import CJSONC
internal import Glibc
internal import LosslessJSON

/// How fast change rows are scanned into a tape, compared with json-c, which builds a tree of each.
enum ScannerBenchmark {
    private static let byteCount = 100_000_000
    /// How many times as fast as json-c's strict mode the scanner must be.
    private static let wantedRatio = 5.0
    /// Each batch may allocate memory, but not each row.
    private static let allowedAllocationsPerRow = 0.01

    static func run() -> Bool {
        ChangeRows.Flavour.allCases.map { flavour in
            compare(ChangeRows(flavour, byteCount: byteCount), named: flavour.rawValue)
        }.allSatisfy { $0 }
    }

    private static func compare(_ rows: ChangeRows, named name: String) -> Bool {
        let strict = Measurement { parseWithJSONC(rows, flags: JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8) }
        let lax = Measurement { parseWithJSONC(rows, flags: 0) }
        let copied = Measurement { copy(rows) }
        let scanned = Measurement { scan(rows) }
        let noted = Measurement { scan(rows, notingMembers: true) }

        let average = rows.byteCount / rows.rowCount
        print("\(name): \(rows.rowCount) rows of \(average) bytes, \(rows.blocks.count) batches")
        print("  " + "".padded(to: 28) + "    MB/s   × json-c strict   allocations/row   /batch")
        for (label, measurement) in [
            ("memcpy", copied), ("json-c tree", lax), ("json-c tree, strict", strict), ("scanner with tape", scanned),
            ("and members noted", noted),
        ] {
            let rate = Double(rows.byteCount) / measurement.seconds / 1e6
            let columns = [
                rate.formatted(decimals: 0, width: 8),
                (strict.seconds / measurement.seconds).formatted(decimals: 1, width: 18),
                (Double(measurement.allocations) / Double(rows.rowCount)).formatted(decimals: 4, width: 18),
                (Double(measurement.allocations) / Double(rows.blocks.count)).formatted(decimals: 1, width: 9),
            ]
            print("  " + label.padded(to: 28) + columns.joined())
        }
        let ratio = strict.seconds / scanned.seconds
        let perRow = Double(scanned.allocations) / Double(rows.rowCount)
        let isLean = perRow <= allowedAllocationsPerRow
        print("  allocations per row: \(isLean ? "ok" : "TOO MANY")")
        print("  at least \(wantedRatio) × json-c strict: \(ratio >= wantedRatio ? "ok" : "NOT REACHED")\n")
        return isLean
    }

    /// Scans rows as a changes feed does: one tape for each batch, row after row. `notingMembers` also notes the
    /// members of each row.
    private static func scan(_ rows: ChangeRows, notingMembers: Bool = false) {
        var found = 0
        for block in rows.blocks {
            let text = block.bytes.span
            var tape = JSONTape(minimumCapacity: text.count / 20)
            var at = 0
            while at < text.count {
                let root = tape.count
                guard let end = try? tape.scanValue(in: text, from: at) else { preconditionFailure("not JSON") }
                if notingMembers {
                    tape.forEachMember(ofObjectAt: root) { name, value in
                        if isWanted(name, on: tape, in: block.bytes) { found += value }
                    }
                }
                at = skipWhitespace(text, from: end)
                if at < text.count { at += 1 }
            }
            blackHole(tape.count)
        }
        blackHole(found)
    }

    /// Whether this is a member that a changes feed reads; asked as the feed asks.
    private static func isWanted(_ name: Int, on tape: JSONTape, in bytes: [UInt8]) -> Bool {
        tape.isString(name, "seq", in: bytes) || tape.isString(name, "id", in: bytes)
            || tape.isString(name, "doc", in: bytes) || tape.isString(name, "changes", in: bytes)
            || tape.isString(name, "deleted", in: bytes) || tape.isString(name, "removed", in: bytes)
            || tape.isString(name, "revoked", in: bytes) || tape.isString(name, "err", in: bytes)
    }

    /// Builds and frees a tree for each row.
    private static func parseWithJSONC(_ rows: ChangeRows, flags: Int32) {
        guard let tokener = json_tokener_new() else { preconditionFailure("out of memory") }
        defer { json_tokener_free(tokener) }
        json_tokener_set_flags(tokener, flags)
        for block in rows.blocks {
            block.bytes.withUnsafeBytes { bytes in
                for row in block.rows {
                    json_tokener_reset(tokener)
                    let text = UnsafeRawBufferPointer(rebasing: bytes[row])
                    let tree = json_tokener_parse_ex(
                        tokener, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(row.count))
                    precondition(tree != nil, "not JSON")
                    json_object_put(tree)
                }
            }
        }
    }

    private static func copy(_ rows: ChangeRows) {
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 21, alignment: 16)
        defer { target.deallocate() }
        for block in rows.blocks {
            block.bytes.withUnsafeBytes { target.copyMemory(from: $0) }
            blackHole(target)
        }
    }
}
