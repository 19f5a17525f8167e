internal import Encodings
internal import Foundation
internal import Locking

/// What was read at one go.
struct InputChunk: Sendable {
    var items: [SourceItem] = []
    /// Of the table that they are rows of.
    var header: [UInt8]?
    /// How the documents are written down; nil as long as nothing tells.
    var format: InputFormat?
    /// Why reading can't go on. What was read before is good.
    var failure: SourceError?
    var isAtEnd = false
    /// Of the input, packed or not.
    var bytesRead = 0
}

/// Reads the input, as often as it is gone through. On a thread of its own: reading blocks.
actor ImportReader {
    private let executor = BlockingExecutor("changebot.input")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// What is read at one go.
    private static let chunkDocuments = 256
    private static let chunkBytes = 1 << 20
    private static let headBytes = 1 << 20
    private static let pieceSize = 256 << 10

    private let path: String
    private let format: InputFormat?
    private let delimiter: CSVDelimiter
    private let isStopped: Locked<Bool>
    private var source: DocumentSource?
    /// What can be read only once, and as long as nothing was read of it.
    private var input: PolledInput?
    /// All that came from it.
    private var spool: OpenFile?

    init(_ settings: ImportSettings, isStopped: Locked<Bool>) {
        path = settings.path
        format = settings.format
        delimiter = settings.delimiter
        self.isStopped = isStopped
    }

    /// Whether the input can be read again, by another run too.
    static func isRegularFile(_ path: String) -> Bool {
        var information = stat()
        return path != "-" && stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
    }

    /// By what the input is known again: its length, when it was changed last, and the SHA-256 of its beginning.
    func fingerprint() throws(TransferError) -> ImportIdentity.Input {
        guard Self.isRegularFile(path) else { return .init(size: 0, changed: 0, head: "") }
        var information = stat()
        guard stat(path, &information) == 0 else { throw TransferError(.missing, "can't read \(path)") }
        let file = try OpenFile(reading: path)
        var digest = RunningDigest(.sha256)
        while digest.byteCount < Self.headBytes {
            let piece = try file.read(upTo: Self.headBytes - digest.byteCount)
            if piece.isEmpty { break }
            digest.update(piece)
        }
        let time = information.st_mtim
        // A number to be recognized by: of years beyond 2262, which nanoseconds can't count, what is left of it.
        let changed = time.tv_sec &* 1_000_000_000 &+ time.tv_nsec
        return .init(size: try file.byteCount, changed: changed, head: digest.hex)
    }

    /// Keeps what can be read only once in a file without a name.
    ///
    /// - Throws: `SourceError`, ``TransferError``: `.cannotCreate`, `.cannotWrite`.
    func keep() throws {
        guard !Self.isRegularFile(path), spool == nil else { return }
        let input = try self.input ?? PolledInput(path, isStopped: isStopped)
        self.input = nil
        let file = try OpenFile(temporaryIn: NSTemporaryDirectory())
        while let piece = try input.read() { try file.write(piece) }
        spool = file
    }

    /// What the manifest beside the input says of its attachments; nil if there is no manifest.
    ///
    /// - Parameter checksInput: Whether the input must be what the manifest says.
    /// - Throws: ``TransferError``.
    func exportedAttachments(checksInput: Bool) throws(TransferError) -> ExportedAttachments? {
        guard Self.isRegularFile(path), let manifest = try ManifestCheck.read(path, isStrict: checksInput) else {
            return nil
        }
        if checksInput { try ManifestCheck.run(path, manifest) }
        return ExportedAttachments(manifest.value, besides: path)
    }

    /// Goes to the beginning. Returns the length of the input; nil if it can't be known.
    func begin() throws -> Int? {
        if let spool {
            try spool.seek(to: 0)
            let size = try spool.byteCount
            source = DocumentSource(
                format: format, delimiter: delimiter, fileName: path, size: size
            ) { () throws(SourceError) in
                do throws(TransferError) {
                    let piece = try spool.read(upTo: Self.pieceSize)
                    return piece.isEmpty ? nil : piece
                } catch {
                    throw SourceError(.unreadable(error.description), at: TextPlace())
                }
            }
            return size
        }
        guard Self.isRegularFile(path) || path != "-" && access(path, F_OK) != 0 else {
            let input = try self.input ?? PolledInput(path, isStopped: isStopped)
            self.input = input
            source = DocumentSource(
                format: format, delimiter: delimiter, fileName: path
            ) { () throws(SourceError) in try input.read() }
            return nil
        }
        source = try DocumentSource(path: path, format: format, delimiter: delimiter)
        return source?.size
    }

    func next() -> InputChunk {
        var chunk = InputChunk()
        var bytes = 0
        do throws(SourceError) {
            while chunk.items.count < Self.chunkDocuments, bytes < Self.chunkBytes {
                guard let item = try source?.next() else {
                    chunk.isAtEnd = true
                    break
                }
                bytes += item.byteCount
                chunk.items.append(item)
            }
        } catch {
            chunk.failure = error
            chunk.isAtEnd = true
        }
        chunk.header = source?.header
        chunk.format = source?.format
        chunk.bytesRead = source?.bytesRead ?? 0
        return chunk
    }
}

extension SourceItem {
    fileprivate var byteCount: Int {
        switch self {
        case .document(let document): document.bytes.count
        case .fault(let fault): fault.text.count
        }
    }
}
