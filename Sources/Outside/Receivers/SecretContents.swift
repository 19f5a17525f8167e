internal import DocumentFlow
internal import Encodings
internal import Locking
internal import Logging
internal import Rules

/// The contents of the secret files that rules name, for all tasks of a run.
///
/// A file is read again after it has changed. If it is missing or unusable then, its earlier content is used. So replacing
/// a file interrupts nothing.
final class SecretContents: Sendable {
    private struct State {
        var contents: [SecretFile: SecretContent] = [:]
        /// Changed files that are unusable, each logged once.
        var unusable: Set<SecretFile> = []
        /// Files that every user may read, each logged once.
        var exposed: Set<String> = []
    }

    private let state = Locked(State())
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Reads the secret files at the start of a run, and checks the certificate files, which the TLS library reads again
    /// when it connects.
    ///
    /// - Parameter warns: Whether to log files that every user may read.
    /// - Throws: `RunError` with `.badConfiguration` if a file is unusable.
    func check(_ files: OutsideFiles, warns: Bool) throws(RunError) {
        do throws(SecretContent.UnusableSecret) {
            for file in files.secrets {
                let content = try SecretContent(file)
                state.withLock { $0.contents[file] = content }
            }
            for file in files.certificates { try CertificateContent.check(file) }
        } catch {
            throw RunError(.badConfiguration, error.message)
        }
        guard warns else { return }
        for (path, what) in files.confidential where SecretContent.isExposed(path) {
            guard state.withLock({ $0.exposed.insert(path).inserted }) else { continue }
            logger.warning(
                "every user of this machine can read this file with a \(what): run chmod o-r \(path.shellWord)",
                metadata: [LogKey.file: "\(path)"])
        }
    }

    /// The current content, or the last usable one, of a file that ``check(_:warns:)`` has read.
    func text(_ file: SecretFile) -> String {
        let known = state.withLock { $0.contents[file] }
        if let known, SecretContent.Version(of: file.path) == known.version { return known.text }
        do throws(SecretContent.UnusableSecret) {
            let content = try SecretContent(file)
            state.withLock { state in
                state.contents[file] = content
                state.unusable.remove(file)
            }
            return content.text
        } catch {
            let isNew = state.withLock { $0.unusable.insert(file).inserted }
            if isNew {
                logger.warning(
                    "a changed secret file of a rule is unusable; its earlier content is used",
                    metadata: [LogKey.reason: "\(error.message)"])
            }
            return known?.text ?? ""
        }
    }
}
