/// Saves files one at a time, so that no other page can save between the check of a file and its writing.
actor FileSaver {
    private let write: FileWriting

    init(_ write: @escaping FileWriting) { self.write = write }

    /// Writes an edited text, unless the file has changed since.
    ///
    /// - Parameters:
    ///   - edited: With `\n` as line endings.
    ///   - version: Of the content that was opened or saved last.
    func save(_ edited: String, in file: PlayFile, over version: String) -> PlayFile.SaveResult {
        file.save(edited, over: version, write)
    }
}
