internal import CPCRE2

extension RuleSet {
    /// The name and version of the loaded regular expression library: `PCRE2 10.42`.
    ///
    /// - Note: Source: `pcre2api(3)`, `PCRE2_CONFIG_VERSION`: at most 64 bytes, such as `10.42 2022-12-11`.
    package static var regexLibraryVersion: String {
        var text = [UInt8](repeating: 0, count: 64)
        _ = pcre2_config_8(UInt32(PCRE2_CONFIG_VERSION), &text)
        return "PCRE2 \(String(decoding: text.prefix { $0 != 0 && $0 != 0x20 }, as: UTF8.self))"
    }
}
