internal import ArgumentParser
internal import Foundation

/// Counts instructions instead of time, so that figures repeat on a busy machine and a slow change is found.
struct InstructionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instructions",
        abstract: "Count the instructions of parts of the program, and compare them with a baseline.",
        discussion: "Needs valgrind. Ends with 1 if a part takes over a tenth more than in the baseline.")

    @Flag(help: "Write the baseline instead of comparing with it.")
    var update = false

    @Option(help: ArgumentHelp("The baseline.", valueName: "file"))
    var baseline = ".ci/instructions.json"

    @Option(help: ArgumentHelp("Also write all values as JSON.", valueName: "file"))
    var json: String?

    func run() throws {
        Program.require([WireCase.shippedRules])
        guard FileManager.default.isExecutableFile(atPath: Callgrind.path) else {
            throw ValidationError("there is no \(Callgrind.path): install valgrind")
        }
        let before = update ? nil : try InstructionBaseline(file: baseline)
        let directory = try Program.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let file = directory + "/rows"
        let input = try WorkInput(writingTo: file)
        let callgrind = try Callgrind(directory: directory, input: file)
        var counts: [(item: WorkItem, count: Double)] = []
        var figures = Figures()
        for item in WorkItem.allCases {
            let total = try callgrind.instructions(of: item, times: item.repetitions)
            let count = Double(total) / Double(item.repetitions * item.unitCount(input))
            counts.append((item, count))
            figures.add(count, "instructions", unit: "per \(item.unit.rawValue)", of: item.rawValue)
        }
        print(Self.table(counts, before).text)
        try figures.write(to: json)
        if let before { try judge(counts, before) } else { try InstructionBaseline.write(counts, to: baseline) }
    }

    private static func table(
        _ counts: [(item: WorkItem, count: Double)], _ before: InstructionBaseline?
    ) -> Table {
        var table = Table(["part", "instructions", "per", "baseline", "change"])
        for (item, count) in counts {
            let old = before?[item]
            table.add([
                item.rawValue, count.formatted(decimals: 2, width: 1), item.unit.rawValue,
                old.map { $0.formatted(decimals: 2, width: 1) } ?? "-",
                old.map { ((count / $0 - 1) * 100).formatted(decimals: 1, width: 1) + " %" } ?? "-",
            ])
        }
        return table
    }

    private func judge(_ counts: [(item: WorkItem, count: Double)], _ before: InstructionBaseline) throws {
        var hasGrown = false
        for (item, count) in counts {
            switch before.verdict(on: item, count) {
            case .same: continue
            case .grown:
                hasGrown = true
                print("\(item.rawValue) takes over a tenth more instructions than in \(baseline)")
            case .fallen:
                print("\(item.rawValue) takes over a tenth fewer instructions: renew \(baseline) with --update")
            case .unknown: print("\(item.rawValue) is not in \(baseline): renew it with --update")
            }
        }
        if hasGrown { throw ExitCode(1) }
    }
}

/// What ``Callgrind`` starts. Not a subcommand, because it must not be started as one.
struct WorkCommand: ParsableCommand {
    static let name = "work"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Do a piece of work so many times.")

    @Argument var item: WorkItem
    @Argument var times: Int
    @Argument var input: String
    @Argument var directory: String

    func run() throws { try item.run(times: times, WorkInput(file: input), in: directory) }
}

extension WorkItem: ExpressibleByArgument {}
