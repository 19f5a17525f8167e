package import LosslessJSON

/// Reads the documents of a file or of stdin one by one: plain or gzip, in any ``InputFormat``.
///
/// Memory is bounded: it holds one document and a few hundred kilobytes. How the input is split into pieces does not
/// affect the result. A document that can't be read is returned as an error, and reading continues.
package struct DocumentSource: ~Copyable {
    /// The default limit for a document, larger than any that a gateway stores: 64 MiB.
    package static let documentLimit = 64 << 20

    /// The format. If it must be detected, nil until the first document was read.
    package private(set) var format: InputFormat?
    /// The size of the whole input as stored, in bytes; nil if it is not a regular file.
    package let size: Int?

    private var window: TextWindow
    private var reader: (any DocumentsReader)?
    private let limit: Int
    private let delimiter: CSVDelimiter
    /// Whether the first document decides if this is Extended JSON.
    private var mayBeExtended: Bool
    private var hasEnded = false
    /// The error to throw after the last item.
    private var failure: SourceError?

    /// - Parameters:
    ///   - path: A file, or `-` for stdin.
    ///   - format: Nil to detect it from the file's name or the first byte. Then documents whose `_id` is one of
    ///     MongoDB's wrappers are read as Extended JSON.
    ///   - delimiter: Between the cells of a table.
    ///   - documentLimit: The maximum number of bytes of a document. A longer one is an error.
    /// - Throws: ``SourceError`` if the file can't be opened.
    package init(
        path: String, format: InputFormat? = nil, delimiter: CSVDelimiter = .comma,
        documentLimit: Int = Self.documentLimit
    ) throws(SourceError) {
        let file = try InputFile(path)
        self.init(
            format: format, delimiter: delimiter, fileName: path, size: file.size, documentLimit: documentLimit
        ) { () throws(SourceError) in try file.read() }
    }

    /// - Parameter nextPiece: Returns the next bytes of the input, in pieces of any size; nil at the end.
    package init(
        format: InputFormat? = nil, delimiter: CSVDelimiter = .comma, fileName: String = "-", size: Int? = nil,
        documentLimit: Int = Self.documentLimit, _ nextPiece: @escaping () throws(SourceError) -> [UInt8]?
    ) {
        self.format = format ?? InputFormat(fileName: fileName)
        self.size = size
        self.delimiter = delimiter
        window = TextWindow(InputBytes(nextPiece))
        limit = max(documentLimit, 1)
        mayBeExtended = format == nil
    }

    /// Bytes of the input read so far, compressed or not.
    package var bytesRead: Int { window.bytesRead }

    /// Bytes of the input, compressed or not, that belong to the items returned so far; an estimate for compressed
    /// input. Together with ``size`` it shows the progress.
    package var bytesConsumed: Double { window.bytesConsumed }

    /// The header row of a table, without its line break; nil before the first document was read and for other formats.
    package var header: [UInt8]? { reader?.header }

    /// What the input contains, if it ended without any document. For messages; follows "it".
    package var emptiness: String {
        if bytesRead == 0 { return "is empty" }
        if header != nil { return "has only a header" }
        return reader == nil || format == .csv ? "is blank" : "has an empty list"
    }

    /// The next document or error; nil at the end.
    ///
    /// - Throws: ``SourceError`` if reading can't continue; the next call returns nil.
    package mutating func next() throws(SourceError) -> SourceItem? {
        if let failure {
            self.failure = nil
            throw failure
        }
        if hasEnded { return nil }
        do throws(SourceError) {
            if let item = try readNext() { return item }
            hasEnded = true
            return nil
        } catch {
            hasEnded = true
            guard let broken = error.broken else { throw error }
            failure = SourceError(error.reason, at: error.place)
            return .error(broken)
        }
    }

    private mutating func readNext() throws(SourceError) -> SourceItem? {
        if reader == nil { reader = try begin() }
        guard let item = try reader?.next(&window) else { return nil }
        guard case .document(let document) = item else { return item }
        if mayBeExtended, format == .json || format == .ndjson, ExtendedJSON.hasWrapperID(document.text.root) {
            format = .ejson
        }
        mayBeExtended = false
        return format == .ejson ? Self.plain(document) : item
    }

    private static func plain(_ document: SourceDocument) -> SourceItem {
        do throws(ExtendedJSONError) {
            return .document(
                SourceDocument(
                    text: try ExtendedJSON.plain(document.text), place: document.place, original: document.bytes))
        } catch {
            return .error(
                SourceDocumentError(
                    document, .extendedJSON(wrapper: error.wrapper, expected: error.expected), at: error.offset))
        }
    }

    /// Chooses the reader by the given format, or else by the first byte.
    private mutating func begin() throws(SourceError) -> (any DocumentsReader)? {
        window.skipMark()
        try ForeignInput.refuse(&window)
        switch format {
        case .csv?: return CSVReader(delimiter: delimiter, documentLimit: limit)
        case .ndjson?, .json?, .ejson?, nil: return try beginJSON()
        }
    }

    private mutating func beginJSON() throws(SourceError) -> (any DocumentsReader)? {
        guard let first = window.skipWhitespace() else {
            try window.finish()
            return nil
        }
        if first == UInt8(ascii: "{"), BackupMetadata.skip(&window) {
            format = format ?? .json
            return ArrayReader(nil, isArrayPerLine: true, documentLimit: limit)
        }
        if first == UInt8(ascii: "[") {
            window.drop(1)
            let isArrayPerLine = format == .ndjson
            format = format ?? .json
            return ArrayReader(nil, isArrayPerLine: isArrayPerLine, isOpen: true, documentLimit: limit)
        }
        if format != .ndjson, first == UInt8(ascii: "{"), let frame = AnswerFrame.readHead(&window) {
            format = format ?? .json
            return ArrayReader(frame, isOpen: true, documentLimit: limit)
        }
        guard first == UInt8(ascii: "{") || format != nil else { throw SourceError(.unknownFormat, at: window.place) }
        format = format ?? .ndjson
        return LinesReader(documentLimit: limit)
    }
}

/// Reads documents of one format.
protocol DocumentsReader {
    /// The header row without its line break; nil if the documents are not in a table.
    var header: [UInt8]? { get }

    /// Nil at the end.
    ///
    /// - Throws: ``SourceError`` if reading can't continue.
    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem?
}

extension DocumentsReader {
    var header: [UInt8]? { nil }
}

/// One item of a ``DocumentSource``.
package enum SourceItem: Sendable {
    case document(SourceDocument)
    /// A document that can't be read; reading continues after it.
    case error(SourceDocumentError)
}

/// A document of an input, checked to be a JSON object.
package struct SourceDocument: Sendable {
    /// The document byte for byte, scanned.
    package let text: JSONText
    /// Where it begins: for tables, its first cell; for compressed input, the place in the decompressed text.
    package let place: TextPlace
    /// The input that ``text`` was converted from: a row without its line break, or Extended JSON. Nil if the text was
    /// not converted.
    package let original: [UInt8]?

    /// - Parameter text: Its root must be an object.
    package init(text: JSONText, place: TextPlace, original: [UInt8]? = nil) {
        self.text = text
        self.place = place
        self.original = original
    }

    /// From 1, of ``place``.
    package var line: Int { place.line }
    /// From 0, of ``place``.
    package var byteOffset: Int { place.byteOffset }
    /// The JSON of the document, not of the input it was made from.
    package var bytes: [UInt8] { text.bytes }
}
