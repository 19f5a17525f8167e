internal import DocumentFlow
package import Rules

/// A report on the files that rules name for webhooks, downloads and `emit`.
package struct OutsideFileInspection: Sendable {
    /// The number of files with secrets, certificates and keys.
    package let readCount: Int
    /// The number of files that rules emit lines to.
    package let writtenCount: Int
    /// The reasons why a run would not start, each with the remedy.
    package let problems: [String]
    /// Files that every user of this machine can read, with the kind of secret they contain.
    package let exposed: [(path: String, what: String)]

    /// Inspects the files of all rules, including scheduled ones. Writes nothing, and takes no locks. Blocks.
    package init(_ rules: RuleFileSet) {
        let files = rules.outsideFiles
        let targets = rules.emitTargets
        readCount = Set(files.secrets.map(\.path) + files.certificates.flatMap(\.paths)).count
        writtenCount = targets.count { $0 != .standardOutput }
        problems = files.problems + LineOutputs.problems(rules.emittedFiles).map { "\($0.file.place): \($0.error)" }
        exposed = files.confidential.filter { SecretContent.isExposed($0.path) }
    }
}

extension OutsideFiles {
    /// The problems of all files. A run reports only the first one.
    fileprivate var problems: [String] {
        func problem(_ check: () throws(SecretContent.UnusableSecret) -> Void) -> String? {
            do throws(SecretContent.UnusableSecret) { try check() } catch { return error.message }
            return nil
        }
        return secrets.compactMap { file in
            problem { () throws(SecretContent.UnusableSecret) in _ = try SecretContent(file) }
        }
            + certificates.compactMap { file in
                problem { () throws(SecretContent.UnusableSecret) in try CertificateContent.check(file) }
            }
    }
}
