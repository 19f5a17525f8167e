/// The endings of file names, which look like paths of jq.
enum FileEnding {
    /// Endings that a pattern probably means.
    static let common = [
        "png", "jpg", "jpeg", "gif", "webp", "svg", "pdf", "txt", "json", "csv", "xml", "html", "zip", "mp3", "mp4",
    ]

    /// Other endings and names of hidden files, and the endings of host names.
    private static let others: Set = [
        "js", "ts", "jsx", "tsx", "css", "scss", "htm", "md", "yml", "yaml", "toml", "ini", "conf", "cfg", "bak", "tmp",
        "tar", "gz", "tgz", "bz2", "xz", "rar", "exe", "dll", "so", "deb", "rpm", "iso", "swift", "py", "rb", "rs",
        "java", "cpp", "sh", "bat", "sql", "sqlite", "ndjson", "jsonl", "doc", "docx", "xls", "xlsx", "ppt", "pptx",
        "odt", "ods", "rtf", "heic", "heif", "tif", "tiff", "bmp", "ico", "avif", "mov", "avi", "mkv", "wav", "ogg",
        "flac", "aac", "m4a", "ics", "vcf", "eml", "pem", "crt", "p12", "env", "git", "github", "gitlab", "ssh",
        "netrc", "htaccess", "htpasswd", "gitkeep", "keep", "dockerfile", "vscode", "idea", "net", "com", "org",
    ]
    private static let hidden = ["ignore", "rc", "attributes", "modules", "profile", "history", "config"]

    /// `.gitignore`, `.pdf`, `.tar.gz`, `.NET`.
    static func isFileName(_ text: Substring) -> Bool {
        guard text.hasPrefix("."), let last = text.split(separator: ".").last else { return false }
        let name = last.lowercased()
        guard last == name || last == last.uppercased() else { return false }
        return common.contains(name) || others.contains(name)
            || hidden.contains { name.count > $0.count && name.hasSuffix($0) }
    }
}
