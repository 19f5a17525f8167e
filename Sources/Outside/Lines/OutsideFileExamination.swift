package import Rules

/// The files that rules name for webhooks, downloads and `emit`, as they were found.
package struct OutsideFileExamination: Sendable {
    /// How many files hold secrets, certificates and keys.
    package let readCount: Int
    /// How many files rules emit lines to.
    package let writtenCount: Int
    /// Why no run starts with these rules, each with the remedy.
    package let problems: [String]
    /// Files that every user of this machine can read, and the secrets that they hold.
    package let exposed: [(path: String, what: String)]

    /// Looks at the files of all rules, scheduled ones included. Writes nothing, and takes no locks. Blocks.
    package init(_ rules: RuleFileSet) {
        let files = rules.outsideFiles
        let targets = rules.emitTargets
        readCount = Set(files.secrets.map(\.path) + files.certificates.flatMap(\.paths)).count
        writtenCount = targets.count { $0 != .standardOutput }
        problems = files.problems + LineOutputs.problems(targets)
        exposed = files.confidential.filter { SecretContent.isExposed($0.path) }
    }
}

extension OutsideFiles {
    /// Why files can't be used: of all files, where a run stops at the first one.
    fileprivate var problems: [String] {
        func problem(_ check: () throws(SecretContent.Unusable) -> Void) -> String? {
            do throws(SecretContent.Unusable) { try check() } catch { return error.message }
            return nil
        }
        return secrets.compactMap { file in
            problem { () throws(SecretContent.Unusable) in _ = try SecretContent(file) }
        }
            + certificates.compactMap { file in
                problem { () throws(SecretContent.Unusable) in try CertificateContent.check(file) }
            }
    }
}
