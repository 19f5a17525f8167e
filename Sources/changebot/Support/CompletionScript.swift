internal import ArgumentParser

extension CompletionKind {
    /// Rule files, mappings, faults and configuration files.
    static let yamlFile = CompletionKind.file(extensions: ["yaml", "yml", "json"])

    static let certificateFile = CompletionKind.file(extensions: ["pem", "crt", "cer"])
}

/// Improves the script of `--generate-completion-script`: it completes every path of `--rules`, not only the first. In
/// fish it also completes files in folders and names with spaces.
///
/// - Note: Source: the output of swift-argument-parser 1.8.2. The tests fail if a later version generates something
///   else.
enum CompletionScript {
    /// - Parameter text: A script. Any other text, such as help, is returned unchanged.
    static func improved(_ text: String) -> String {
        if text.hasPrefix("#!/bin/bash") { return edited(text, bash) }
        if text.hasPrefix("#compdef") { return edited(text, zsh) }
        if text.hasPrefix("function __changebot") { return edited(text, fish) + "\n" + fishFunctions }
        return text
    }

    private static func edited(_ text: String, _ edit: (String) -> String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { edit(String($0)) }.joined(separator: "\n")
    }

    /// Makes bash complete file names where the script offers nothing.
    private static func bash(_ line: String) -> String {
        line.replacing("complete -o filenames -F", with: "complete -o filenames -o bashdefault -o default -F")
    }

    /// Makes zsh accept several paths after `--rules`, and the option more than once.
    private static func zsh(_ line: String) -> String {
        let names = "{--rules,-r}"
        guard line.contains(names) else { return line }
        return line.replacing("'(--rules -r)'\(names)", with: "'*'\(names)").replacing("]:path:", with: "]:*-*:path:")
    }

    /// Uses fish's own file completion: the generated one finds neither files in folders nor names with spaces.
    private static func fish(_ line: String) -> String {
        let line = line.replacing("(__changebot_complete_directories)", with: "(__fish_complete_directories)")
        let list = "fa '(set -l exts "
        guard let start = line.firstRange(of: list), let end = line[start.upperBound...].firstIndex(of: ";") else {
            return line
        }
        let extensions = line[start.upperBound..<end].split(separator: " ").map { $0.filter(\.isLetter) }
        // `k` keeps the order.
        return "\(line[..<start.lowerBound])fka '(__changebot_complete_files \(extensions.joined(separator: " ")))'"
    }

    private static let fishFunctions = """
        # All files and folders: first the files with these extensions, then the folders.
        function __changebot_complete_files
            set -l files (complete -C "__fish_command_without_completions "(commandline -ct))
            string match -r -- "^.*\\.(?:"(string join '|' -- $argv)")\\$" $files
            string match -- '*/' $files
            printf '%s\\n' $files
        end
        function __changebot_is_in_rules
            set -l options (string match -- '-*' (commandline -opc))
            contains -- "$options[-1]" -r --rules
        end
        complete -c changebot -n __changebot_is_in_rules -fka '(__changebot_complete_files yaml yml json)'
        """
}
