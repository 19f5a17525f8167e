/// Rows of a changes feed, or of `_all_docs`, as sent by a gateway, all of the same length.
///
/// They are numbered when they are sent, so that a feed of any length needs only the memory of one block.
struct WireRows: Sendable {
    /// The number of the first row. All numbers have eight digits.
    static let first = 10_000_001
    private static let placeholder = Array("########".utf8)

    /// Between two rows.
    let separator = Array("\n,".utf8)
    private let row: [UInt8]
    /// The positions of the row's number.
    private let places: [Int]

    enum Kind { case change, changeWithoutDocument, listed }

    init(_ kind: Kind) {
        let note = String(repeating: "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ", count: 4)
        let revision = "1-967a00dff5e02add41819138abb3284d"
        let change = #""seq":########,"id":"task-########","changes":[{"rev":"\#(revision)"}]"#
        let listed = #""id":"task-########","key":"task-########","value":{"rev":"\#(revision)"}"#
        let document =
            #""doc":{"_id":"task-########","_rev":"\#(revision)","type":"task","task":"thing ########","#
            + #""complete":false,"createdAt":"2026-11-20T10:00:00.000Z","#
            + #""taskList":{"id":"amy.groceries","owner":"amy"},"n":12345678901234567890123,"note":"\#(note)"}"#
        let text =
            switch kind {
            case .change: "{\(change),\(document)}"
            case .changeWithoutDocument: "{\(change)}"
            case .listed: "{\(listed),\(document)}"
            }
        let row = Array(text.utf8)
        self.row = row
        places = row.indices.filter { row[$0...].starts(with: Self.placeholder) }
    }

    var byteCount: Int { row.count }

    /// The row of a document; nil if there is none.
    static func number(_ id: String) -> Int? { Int(id.dropFirst(5)) }

    /// Bytes for `count` rows, each with `prefix` and `suffix`; their numbers are added later.
    func block(_ count: Int, prefix: [UInt8] = [], suffix: [UInt8] = []) -> [UInt8] {
        Array((0..<count).map { _ in prefix + row + suffix }.joined())
    }

    /// Numbers the rows of a block.
    ///
    /// - Parameters:
    ///   - first: The number of the first row.
    ///   - prefix: The length of the text before each row.
    ///   - stride: The length of a row with its prefix and suffix.
    func number(_ block: inout [UInt8], rows count: Int, from first: Int, prefix: Int, stride: Int) {
        for index in 0..<count {
            var (rest, digits) = (first + index, 0 as UInt64)
            for _ in 0..<8 {
                digits = digits << 8 | UInt64(UInt8(ascii: "0") + UInt8(rest % 10))
                rest /= 10
            }
            block.withUnsafeMutableBytes { bytes in
                for place in places {
                    bytes.storeBytes(of: digits, toByteOffset: index * stride + prefix + place, as: UInt64.self)
                }
            }
        }
    }

    /// Rows with their numbers and the separators between them.
    func text(_ numbers: some Collection<Int>) -> [UInt8] {
        var bytes = block(numbers.count, suffix: separator)
        let stride = row.count + separator.count
        for (index, number) in numbers.enumerated() {
            self.number(&bytes, rows: 1, from: number, prefix: index * stride, stride: stride)
        }
        bytes.removeLast(min(separator.count, bytes.count))
        return bytes
    }
}
