internal import CJSONC

extension SmallJSON {
    /// The library that reads small answers, as it is loaded now, with its version: `json-c 0.16`.
    package static var libraryVersion: String { "json-c \(String(cString: json_c_version()))" }
}
