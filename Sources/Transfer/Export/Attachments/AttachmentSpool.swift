internal import Foundation

/// A file that an attachment is written to while it comes, and read from once it is whole: however large it is, memory
/// holds a piece of it.
actor AttachmentSpool {
    private static let executor = BlockingExecutor("changebot.attachments")
    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    private let file: OpenFile
    private var digest = RunningDigest()

    /// - Parameter path: Nil for a file without a name in `directory`.
    init(path: String? = nil, directory: String) throws(TransferError) {
        if let path { file = try OpenFile(creating: path) } else { file = try OpenFile(temporaryIn: directory) }
    }

    func begin() throws(TransferError) {
        try file.truncate(to: 0)
        digest = RunningDigest()
    }

    func append(_ bytes: [UInt8]) throws(TransferError) {
        try file.write(bytes)
        digest.update(bytes)
    }

    var body: AttachmentBody { AttachmentBody(byteCount: digest.byteCount, sha256: digest.hex) }

    func rewind() throws(TransferError) { try file.seek(to: 0) }

    func read(upTo limit: Int) throws(TransferError) -> [UInt8] { try file.read(upTo: limit) }

    /// Gives the file a name of its own, once it is on the disk. This one must have been made with a path.
    func rename(to path: String) throws(TransferError) {
        try file.sync()
        try WholeFile.rename(file.path, to: path)
    }
}
