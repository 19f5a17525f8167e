internal import Encodings

/// Inputs that are not text, such as the workbooks that people import instead of a table.
enum ForeignInput {
    /// - Throws: `.encoding` if the input begins like a file of another kind.
    static func refuse(_ window: inout TextWindow) throws(SourceError) {
        guard window.count > 0 else { return }
        // Reads on only for such a file: other input may be shorter, and still open.
        while FileSignature.needsMore(than: window.slice(0..<window.count)), window.fill() {}
        guard let kind = FileSignature(window.slice(0..<window.count)) else { return }
        throw SourceError(.encoding("this is \(kind.name), not text; \(remedy(for: kind))"), at: window.place)
    }

    private static func remedy(for kind: FileSignature) -> String {
        switch kind {
        case .archive, .oldWorkbook:
            "in Excel, save the sheet as the type 'CSV UTF-8', or run soffice --headless --convert-to 'csv:Text - txt "
                + "- csv (StarCalc):44,34,76' FILE; unpack an archive"
        case .gzip: "it was compressed twice: decompress it once with gunzip"
        case .bzip2, .xz, .zstandard, .sevenZip: "the only compression is gzip: decompress the file first"
        case .sqlite:
            "if it is a database of changebot gateway, copy it with changebot replicate embedded:FILE TARGET; otherwise "
                + "export its tables as CSV"
        case .pdf, .png, .jpeg, .gif, .webp, .program: "import NDJSON, a JSON array or a table"
        }
    }
}
