internal import Encodings
internal import LosslessJSON

/// Why a document has no usable `_id`, and what to do.
struct IDAdvice {
    private let source: ImportOrigin.Source
    private let delimiter: CSVDelimiter

    /// - Parameters:
    ///   - source: The part of the input that the document came from.
    ///   - delimiter: The delimiter of tables.
    init(_ source: ImportOrigin.Source, delimiter: CSVDelimiter) {
        self.source = source
        self.delimiter = delimiter
    }

    /// The reason to refuse a document without `_id`.
    func reasonWithoutID(_ document: JSONValue) -> String {
        switch source {
        case .row(_, let header):
            let columns = CSVHeader.columns(inRow: header, delimiter: delimiter)
            if columns.contains("_id") { return "it has no _id: its cell in the column '_id' is empty; fill it" }
            guard let name = Self.likelyID(among: columns) else { break }
            let member = document.members.first { $0.name.string == name }
            return "it has no _id, but a column '\(name)': rename the column to '_id' in the header, or give a mapping "
                + "(--map) with \(MappingLine.renameToID(name, isText: member?.value.kind != .number))"
        case .json:
            let members = document.members.compactMap { member in
                [.string, .number].contains(member.value.kind) ? member.name.string : nil
            }
            if let list = Self.listOfDocuments(in: document) {
                return "it has no _id, but a list '\(list)' of documents; import that list alone: "
                    + "extract it with jq '\(MappingLine.pathExpression([list]))'"
            }
            guard let name = Self.likelyID(among: members) else { break }
            return "it has no _id, but '\(name)'; give it one with a mapping (--map): "
                + MappingLine.renameToID(name, isText: document[name]?.kind == .string)
        }
        return "it has no _id; a mapping (--map) can give it one"
    }

    /// The reason to refuse an `_id` that is not a string.
    func reason(for id: JSONValue) -> String {
        let isWrapped = id.kind == .object && id.members.contains { $0.name.string?.hasPrefix("$") == true }
        if isWrapped { return "its _id is a MongoDB wrapper; read the file with --format ejson" }
        guard id.kind == .number else { return "its _id is not a string; give it one with a mapping (--map)" }
        if case .row = source { return "its _id is a number, not a string; name the column '_id', without a type" }
        return "its _id is a number, not a string; put it in quotes, or give a mapping (--map) with "
            + "merge: { _id: { jq: '._id | tostring' } }"
    }

    /// The only list, if its first element has an `_id`.
    private static func listOfDocuments(in document: JSONValue) -> String? {
        let lists = document.members.filter { $0.value.kind == .array }
        guard lists.count == 1, lists[0].value.elements.first(where: { _ in true })?["_id"] != nil else { return nil }
        return lists[0].name.string
    }

    /// The name that most probably means `_id`; nil if none does.
    private static func likelyID(among names: [String]) -> String? {
        let plain = names.map { name in
            String(name.unicodeScalars.filter { $0.properties.isAlphabetic || $0.properties.numericType != nil })
                .lowercased()
        }
        for meant in ["id", "docid", "documentid", "uuid", "guid", "objectid", "key"] {
            if let index = plain.firstIndex(of: meant) { return names[index] }
        }
        let endings = names.indices.filter { names[$0].endsWithID }
        return endings.count == 1 ? names[endings[0]] : nil
    }
}

extension String {
    /// Whether its last word is `id`: `bike_id`, `bikeId`, `Bike ID`.
    fileprivate var endsWithID: Bool {
        let start = dropLast(2)
        guard let before = start.last else { return false }
        return switch suffix(2) {
        case "ID", "Id": true
        case "id": !before.isLetter && !before.isNumber
        default: false
        }
    }
}

extension CSVHeader {
    /// The names of the columns that are members of the document itself. Empty if the row is not a header.
    ///
    /// - Parameter row: The header as in ``DocumentsReader/header``.
    fileprivate static func columns(inRow row: [UInt8], delimiter: CSVDelimiter) -> [String] {
        let (named, names) = CSVReader.splitDelimiterLine(row)
        let bytes = Array(names) + [UInt8(ascii: "\n")]
        var record = CSVRecord(delimiter: named ?? delimiter)
        guard case .end? = record.read(bytes.span) else { return [] }
        return record.cells.compactMap { cell in
            let path = CSVMemberName.names(in: Array(cell.characters(in: bytes)))
            return path.count == 1 ? path[0] : nil
        }
    }
}
