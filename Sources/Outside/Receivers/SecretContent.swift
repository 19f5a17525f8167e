internal import DocumentFlow
internal import Glibc
internal import Rules

/// The content of a secret file, read when a run starts and again after the file has changed. Never part of a message.
struct SecretContent: Sendable {
    /// The metadata of a file, to notice that it may have changed.
    struct Version: Equatable, Sendable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int

        /// Nil if there is no such file, or it is not a regular one.
        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// Why the file can't be used, with its path and the remedy.
    struct UnusableSecret: Error {
        let message: String
    }

    /// The maximum number of bytes of a secret.
    private static let lengthLimit = 64 << 10

    /// The content without leading and trailing white space.
    let text: String
    let version: Version

    /// - Throws: ``UnusableSecret``.
    init(_ file: SecretFile) throws(UnusableSecret) {
        let (path, what) = (file.path, file.kind.rawValue)
        guard let version = Version(of: path) else {
            throw UnusableSecret(
                message: "can't read the \(what) file \(path) of a rule: "
                    + (access(path, F_OK) == 0 ? "it is not a file" : "there is no such file")
                    + "; create it, or correct the path in the rule file")
        }
        guard version.size <= Self.lengthLimit, let bytes = FilePath.read(path, limit: Self.lengthLimit),
            var text = String(validating: bytes, as: UTF8.self)
        else {
            throw UnusableSecret(
                message:
                    "can't read the \(what) file \(path) of a rule; it must be UTF-8 text that this user may read")
        }
        while let last = text.unicodeScalars.last, last.properties.isWhitespace { text.unicodeScalars.removeLast() }
        while let first = text.unicodeScalars.first, first.properties.isWhitespace { text.unicodeScalars.removeFirst() }
        guard !text.isEmpty else {
            throw UnusableSecret(message: "the \(what) file \(path) of a rule is empty; write the \(what) into it")
        }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw UnusableSecret(
                message: "the \(what) file \(path) of a rule has several lines or control characters; write the "
                    + "\(what) alone into it")
        }
        guard file.kind != .secret || WebhookSignature.Secret(text) != nil else {
            throw UnusableSecret(
                message: "the secret file \(path) of a rule must contain whsec_ and base64; create one with: "
                    + "(printf whsec_; openssl rand -base64 32) > FILE")
        }
        self.text = text
        self.version = version
    }

    /// Whether every user of this machine can read the file.
    static func isExposed(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }
}
