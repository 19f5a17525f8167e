internal import ArgumentParser
internal import Foundation
internal import LosslessJSON

/// Counts instructions instead of time, so that results are reproducible on a busy machine and slower code is detected.
struct InstructionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instructions",
        abstract: "Count the instructions of parts of the program, and compare them with a baseline.",
        discussion: """
            Needs valgrind, and strip from binutils. Exits with 1 if a part takes over 10 % more than in the baseline.
            """)
    /// The tolerated change of a part.
    private static let tolerance = 0.1

    @Flag(help: "Write the baseline instead of comparing with it.")
    var update = false

    @Option(help: ArgumentHelp("The baseline.", valueName: "file"))
    var baseline = ".ci/instructions.json"

    func run() async throws {
        Program.require([Program.shippedRules])
        guard FileManager.default.isExecutableFile(atPath: Callgrind.path) else {
            throw ValidationError("there is no \(Callgrind.path): install valgrind")
        }
        let before = update ? nil : FileManager.default.contents(atPath: baseline).flatMap { SmallJSON($0) }
        guard update || before != nil else {
            throw BenchmarkError("\(baseline) is not a baseline: make it with --update")
        }
        let input = WorkInput()
        var counts: [(item: WorkItem, count: Double)] = []
        try await Program.withDirectory { directory in
            let callgrind = try Callgrind(directory: directory)
            for item in WorkItem.allCases {
                let repetitions = item.description.repetitions
                let total = try callgrind.instructions(of: item, times: repetitions)
                counts.append((item, Double(total) / Double(repetitions * item.unitCount(input))))
            }
        }
        if let before { try compare(counts, before) } else { try write(counts) }
    }

    private func compare(_ counts: [(item: WorkItem, count: Double)], _ before: SmallJSON) throws {
        var table = Table(["part", "instructions", "per", "baseline", "change"])
        var (remarks, hasGrown): ([String], Bool) = ([], false)
        for (item, count) in counts {
            let cells = [item.rawValue, count.formatted(decimals: 2), item.description.per.rawValue]
            guard case .number(let text)? = before[item.rawValue]?["instructions"], let old = Double(text) else {
                table.add(cells)
                remarks.append("\(item.rawValue) is not in \(baseline): renew it with --update")
                continue
            }
            let change = count / old - 1
            table.add(cells + [text, (change * 100).formatted(decimals: 1) + " %"])
            if change > Self.tolerance {
                hasGrown = true
                remarks.append("\(item.rawValue) takes over a tenth more instructions than in \(baseline)")
            } else if change < -Self.tolerance {
                remarks.append(
                    "\(item.rawValue) takes over a tenth fewer instructions: renew \(baseline) with --update")
            }
        }
        print(([table.text] + remarks).joined(separator: "\n"))
        if hasGrown { throw ExitCode(1) }
    }

    private func write(_ counts: [(item: WorkItem, count: Double)]) throws {
        let lines = counts.map { item, count in
            let (about, unit, _) = item.description
            return #"  "\#(item.rawValue)": {"instructions":\#(count.formatted(decimals: 2)),"#
                + #""per":"\#(unit.rawValue)","about":"\#(about)"}"#
        }
        _ = try Program.write("{\n\(lines.joined(separator: ",\n"))\n}\n", to: baseline)
    }
}

/// The command that ``Callgrind`` starts. Not a subcommand, because users must not run it.
struct WorkCommand: ParsableCommand {
    static let name = "work"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Run a work item a number of times.")

    @Argument var item: WorkItem
    @Argument var times: Int
    @Argument var directory: String

    func run() throws { try item.run(times: times, WorkInput(), in: directory) }
}

extension WorkItem: ExpressibleByArgument {}
