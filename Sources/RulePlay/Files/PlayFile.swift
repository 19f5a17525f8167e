internal import Encodings
internal import Rules

/// A rule file that the page shows and may write.
package struct PlayFile: Sendable {
    /// The maximum number of bytes of a file that is edited.
    static let lengthLimit = 8 << 20

    /// As given.
    package let path: String

    package init(path: String) { self.path = path }

    /// What is on disk.
    enum Content: Equatable {
        /// There is no such file yet.
        case missing
        case text(String)
        /// Why it can't be edited.
        case unreadable(String)

        /// Changes with the bytes of the file.
        var version: String {
            switch self {
            case .missing: "missing"
            case .text(let text): Digest.sha256.hex(Array(text.utf8))
            case .unreadable: "unreadable"
            }
        }
    }

    /// Reads the file. Blocks.
    func read() -> Content {
        let bytes: [UInt8]
        do throws(FileError) { bytes = try FileBytes.read(path, limit: Self.lengthLimit) } catch {
            switch error {
            case .missing: return .missing
            case .isFolder: return .unreadable("'\(path)' is a folder now; remove or rename the folder")
            default: return .unreadable(error.description)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            return .unreadable("'\(path)' is not text in UTF-8; convert it with iconv, or name another file")
        }
        return .text(text)
    }

    /// Whether the folder of the file exists. Blocks.
    var hasFolder: Bool {
        switch try? FileBytes.kind(of: RulePath.folder(of: path) ?? ".") {
        case .folder: true
        default: false
        }
    }
}

/// Writes a file as a whole.
///
/// - Throws: A description of what is wrong and what to do.
package typealias FileWriting = @Sendable (_ bytes: [UInt8], _ path: String) throws -> Void

extension PlayFile {
    enum SaveResult: Equatable {
        /// The version on disk now.
        case saved(version: String)
        /// The file is not the one that was opened or saved last.
        case conflict(Content)
        case failed(String)
    }

    /// Writes an edited text, unless the file has changed since. ``FileSaver`` calls it.
    ///
    /// - Parameters:
    ///   - edited: With `\n` as line endings.
    ///   - version: Of the content that was opened or saved last.
    func save(_ edited: String, over version: String, _ write: FileWriting) -> SaveResult {
        guard edited.utf8.count <= Self.lengthLimit else {
            return .failed("the text is longer than \(Self.lengthLimit) bytes; split it into several files")
        }
        let current = read()
        // The page keeps the version that it knows, so that the text can be saved once the obstacle is removed.
        if case .unreadable(let reason) = current { return .failed(Self.unsaved(reason)) }
        guard current.version == version else { return .conflict(current) }
        let text: String
        switch current {
        case .text(let old): text = LineEndings(old).restored(edited)
        case .missing: text = edited
        case .unreadable(let reason): return .failed(reason)
        }
        do { try write(Array(text.utf8), path) } catch { return .failed(Self.unsaved("\(error)")) }
        return .saved(version: Content.text(text).version)
    }

    private static func unsaved(_ reason: String) -> String {
        "\(reason). The file is as it was, and your text is still in the editor: save it again afterwards, or download it"
    }
}
