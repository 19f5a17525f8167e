/// Spreadsheets that are not text, which people import instead of a table.
enum Workbook {
    /// A ZIP archive (`.xlsx`, `.ods`), and an OLE file (`.xls`).
    private static let signatures: [[UInt8]] = [[0x50, 0x4B, 0x03, 0x04], [0xD0, 0xCF, 0x11, 0xE0]]

    /// - Throws: `.encoding` if the input begins like a workbook.
    static func refuse(_ window: inout TextWindow) throws(SourceError) {
        // Reads on only for such a file: other input may be shorter, and still open.
        guard window.count > 0, signatures.contains(where: { $0[0] == window[0] }) else { return }
        while window.count < 4, window.fill() {}
        guard window.count >= 4, signatures.contains(Array(window.slice(0..<4))) else { return }
        throw SourceError(
            .encoding(
                "this is a workbook or a ZIP archive, not text; in Excel, save the sheet as the type 'CSV UTF-8', or run "
                    + "soffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76' FILE; unpack an archive"
            ),
            at: window.place)
    }
}
