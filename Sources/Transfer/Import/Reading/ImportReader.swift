internal import Encodings
internal import FoundationEssentials
internal import Glibc
internal import Locking
internal import Revisions

/// The items of one read.
struct InputChunk: Sendable {
    var items: [SourceItem] = []
    /// The header row if the items are rows of a table.
    var header: [UInt8]?
    /// The format; nil until it is known.
    var format: InputFormat?
    /// Why reading can't continue; the items before it are valid.
    var failure: SourceError?
    var isAtEnd = false
    /// Bytes of the input read so far, compressed or not.
    var bytesRead = 0
    /// Bytes of the input, compressed or not, that belong to the items returned so far.
    var bytesConsumed = 0.0
}

/// Reads the input, once per pass. Runs on its own thread, because reading blocks.
actor ImportReader {
    private let executor = BlockingExecutor("changebot.input")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The limits of one read.
    private static let chunkDocuments = 256
    private static let chunkBytes = 1 << 20
    private static let headBytes = 1 << 20
    private static let pieceSize = 256 << 10

    private let path: String
    private let format: InputFormat?
    private let delimiter: CSVDelimiter
    private let isStopped: Locked<Bool>
    private var source: DocumentSource?
    /// An input that can be read only once; nil after it was copied.
    private var input: PolledInput?
    /// The copy of an input that can be read only once.
    private var copy: OpenFile?

    init(_ settings: ImportSettings, isStopped: Locked<Bool>) {
        path = settings.path
        format = settings.format
        delimiter = settings.delimiter
        self.isStopped = isStopped
    }

    /// Starts at the beginning. Returns the size of the input; nil if it is not known.
    func begin() throws -> Int? {
        if let copy {
            try copy.seek(to: 0)
            let size = try copy.byteCount
            source = DocumentSource(
                format: format, delimiter: delimiter, fileName: path, size: size
            ) { () throws(SourceError) in
                do throws(TransferError) {
                    let piece = try copy.read(upTo: Self.pieceSize)
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

    /// Whether the input can be read again, including by another run.
    static func isRegularFile(_ path: String) -> Bool {
        var information = stat()
        return path != "-" && stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
    }

    /// What identifies the input: its size, the time of its last change, and the SHA-256 of its beginning.
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
        // The value is only compared for equality, so years after 2262 may overflow.
        let changed = time.tv_sec &* 1_000_000_000 &+ time.tv_nsec
        return .init(size: try file.byteCount, changed: changed, head: digest.hex)
    }

    /// Copies an input that can be read only once to an unnamed temporary file.
    ///
    /// - Throws: `SourceError`, ``TransferError``: `.cannotCreate`, `.cannotWrite`.
    func spool() throws {
        guard !Self.isRegularFile(path), copy == nil else { return }
        let input = try self.input ?? PolledInput(path, isStopped: isStopped)
        self.input = nil
        let file = try OpenFile(temporaryIn: FileOperations.temporaryDirectory)
        while let piece = try input.read() { try file.write(piece) }
        copy = file
    }

    /// What an input without documents contains, once it was read to its end.
    var emptiness: String { source?.emptiness ?? "is empty" }

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
        chunk.bytesConsumed = source?.bytesConsumed ?? 0
        return chunk
    }
}

extension SourceItem {
    fileprivate var byteCount: Int {
        switch self {
        case .document(let document): document.bytes.count
        case .error(let error): error.text.count
        }
    }
}

/// Stdin or a pipe, whose reader can be stopped while it waits for input.
private final class PolledInput {
    /// How often the reader checks whether to stop, in milliseconds.
    private static let milliseconds: Int32 = 200

    private let descriptor: InputDescriptor
    private let isStopped: Locked<Bool>

    /// - Parameter path: `-` for stdin.
    init(_ path: String, isStopped: Locked<Bool>) throws(SourceError) {
        // Opening a pipe without a writer would block without a way to stop it.
        descriptor = try InputDescriptor(path, flags: O_NONBLOCK)
        self.isStopped = isStopped
    }

    /// The next piece; nil at the end or when stopped.
    func read() throws(SourceError) -> [UInt8]? {
        while !isStopped.withLock({ $0 }) {
            var interest = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            guard poll(&interest, 1, Self.milliseconds) > 0, let piece = try descriptor.read() else { continue }
            return piece.isEmpty ? nil : piece
        }
        return nil
    }
}
