internal import ArgumentParser

struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service", abstract: "Print units for systemd.",
        subcommands: [ServicePrintCommand.self])
}
