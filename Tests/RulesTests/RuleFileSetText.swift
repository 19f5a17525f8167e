import Testing

@testable import Rules

/// A rule file that is given as text instead of on disk, with its tests.
func fileSet(_ yaml: String) throws -> RuleFileSet {
    let shared = RuleReading.Shared()
    let file = RuleFile(path: "r.yaml", bytes: Array(yaml.utf8), shared: shared)
    let errors = file.errors + shared.programs.compile()
    try #require(errors.isEmpty, "\(errors)")
    return RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
}
