internal import CJSONC

extension SmallJSON {
    /// The name and version of the loaded library that reads small answers: `json-c 0.16`.
    package static var libraryVersion: String { "json-c \(String(cString: json_c_version()))" }
}
