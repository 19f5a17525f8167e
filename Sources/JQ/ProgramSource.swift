/// A program's text, and the variables whose values are passed with each run.
struct ProgramSource {
    let text: [UInt8]
    let locals: [String]

    func contains(_ part: String) -> Bool { String(decoding: text, as: UTF8.self).contains(part) }
}
