internal import DocumentFlow
internal import Locking
internal import Logging
internal import Rules

/// The contents of the files with secrets that rules name, for all tasks of a run.
///
/// A file is read again after it has changed. If it is gone then, or can't be used, its earlier content counts: so a
/// file that is replaced, and missing for a moment, holds nothing up.
final class SecretContents: Sendable {
    private struct State {
        var contents: [SecretFile: SecretContent] = [:]
        /// Changed files that can't be used: logged once each.
        var complained: Set<SecretFile> = []
        /// Files that every user may read: logged once each.
        var exposed: Set<String> = []
    }

    private let state = Locked(State())
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Reads files, at the start of a run, and looks whether those with certificates hold some: the TLS library reads
    /// these again when it connects.
    ///
    /// - Parameter warns: Whether to log files that every user may read.
    /// - Throws: `RunError` with `.badConfiguration` if one can't be used.
    func check(_ files: OutsideFiles, warns: Bool) throws(RunError) {
        do throws(SecretContent.Unusable) {
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
                "every user of this machine can read this file with a \(what): take the right away with chmod o-r",
                metadata: [LogKey.file: "\(path)"])
        }
    }

    /// The content as it is now, or the last one that could be used. Of a file that ``check(_:warns:)`` has read.
    func text(_ file: SecretFile) -> String {
        let known = state.withLock { $0.contents[file] }
        if let known, SecretContent.Version(of: file.path) == known.version { return known.text }
        do throws(SecretContent.Unusable) {
            let content = try SecretContent(file)
            state.withLock { state in
                state.contents[file] = content
                state.complained.remove(file)
            }
            return content.text
        } catch {
            let isNews = state.withLock { $0.complained.insert(file).inserted }
            if isNews {
                logger.warning(
                    "a secret file of a rule has changed and can't be used; its earlier content is used",
                    metadata: [LogKey.reason: "\(error.message)"])
            }
            return known?.text ?? ""
        }
    }
}
