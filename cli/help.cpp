// tulle help [command]: what --help prints.
#include "common/help.hpp"

#include <CLI/CLI.hpp>
#include <tulle/core/status.hpp>

#include "common/command.hpp"
#include "common/output.hpp"
#include "common/usage_error.hpp"

namespace tulle::cli {

void add_help(CLI::App& app, int& result) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& command = declare_command(
      app, result, "help", "What a command does and takes",
      "Examples: tulle help\n          tulle help solve\n          tulle help bench spmv", [&app, words] {
        const CLI::App* named = &app;
        for (const std::string& word : *words) {
          const auto below = named->get_subcommands([&](const CLI::App* c) { return c->get_name() == word; });
          if (below.empty()) {
            throw error(status::invalid_argument, unknown_command(*named, word));
          }
          named = below.front();
        }
        put_raw(stdout, help_text(describe(*named)));
        return ok;
      });
  command.add_option("command", *words, "A command; none: all of them")->type_name("COMMAND");
}

}  // namespace tulle::cli
