internal import Glibc
internal import Locking
internal import LosslessJSON

/// A folder from which documents choose attachments. Nothing outside it can be reached.
///
/// A file is read when a document first names it, and again after it has changed on disk. Contents are cached up to a
/// limit. Reading blocks, for as long as local files take.
final class AttachmentFolder: Sendable {
    private struct Entry {
        let version: FileVersion
        let content: AttachmentContent
    }

    /// The maximum number of base64 bytes in the cache. The newest file is kept whatever its size.
    private static let cacheLimit = 16 << 20
    /// The maximum number of files and folders that ``writeCanonical(to:)`` lists.
    private static let listedFiles = 10_000

    private let path: String
    private let cache = Locked<[ExactString: Entry]>([:])

    /// - Throws: ``FileError`` if it is not a folder.
    init(_ path: String) throws(FileError) {
        guard try FileBytes.kind(of: path) == .folder else { throw .notAFolder(path) }
        self.path = try FileBytes.realPath(path)
    }

    /// A folder that may not exist.
    init(unread path: String) { self.path = path }

    /// - Parameter name: Relative to the folder; may come from a document, so it is not trusted.
    /// - Throws: ``FileError``, also if `..` or a link makes the name leave the folder.
    func content(_ name: String) throws(FileError) -> AttachmentContent {
        guard !name.begins(with: "/"), !name.utf8.contains(0), !Self.hasParentReference(name) else {
            throw .outside(name, folder: path)
        }
        let file = try FileBytes.realPath(path + "/" + name)
        guard file.begins(with: path == "/" ? path : path + "/") else { throw .outside(name, folder: path) }
        let version = try FileBytes.version(of: file)
        if let entry = cache.withLock({ $0[ExactString(file)] }), entry.version == version { return entry.content }
        let content = AttachmentContent(try FileBytes.read(file, limit: AttachmentFiles.lengthLimit))
        cache.withLock { cache in
            let held = cache.values.reduce(content.base64.count) { $0 + $1.content.base64.count }
            if held > Self.cacheLimit { cache = [:] }
            cache[ExactString(file)] = Entry(version: version, content: content)
        }
        return content
    }

    /// Whether `..` is one of the parts of the name.
    private static func hasParentReference(_ name: String) -> Bool {
        name.utf8.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) }
    }

    /// Writes what decisions depend on: names, sizes and modification times of the files, up to a limit. Does not read
    /// contents.
    func writeCanonical(to writer: inout JSONWriter) {
        var left = Self.listedFiles
        writer.array { writer in list("", depth: 0, &left, &writer) }
    }

    private func list(_ folder: String, depth: Int, _ left: inout Int, _ writer: inout JSONWriter) {
        guard depth < 16, left > 0, let names = try? FileBytes.names(inFolder: path + folder) else { return }
        for name in names {
            guard left > 0 else { return }
            left -= 1
            let place = folder + "/" + name
            guard let version = try? FileBytes.version(of: path + place) else { continue }
            if version.isFolder {
                list(place, depth: depth + 1, &left, &writer)
            } else {
                writer.array { writer in
                    writer.string(place)
                    writer.integer(version.size)
                    writer.integer(version.seconds)
                    writer.integer(version.nanoseconds)
                }
            }
        }
    }
}
