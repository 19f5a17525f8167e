internal import ArgumentParser

extension TerminalStyle.Choice: ExpressibleByArgument {}
