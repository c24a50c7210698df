// For bash: one function, which needs nothing of the package bash-completion.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completions.hpp"

namespace tulle::cli {
namespace {

/// Words break at : and = as well, so that what bash has of gen:NAME is but its end; the line itself has it all.
constexpr const char* functions = R"(# Completions of tulle for bash.

# Offers those of the words $1 that go on from $current; with $2 what stands before them, with $3 behind.
_tulle_words() {
  local word
  for word in $1; do
    [[ $word == "$current"* ]] && COMPREPLY+=("${2-}$word${3-}")
  done
}

_tulle_files() {
  local file
  compopt -o filenames 2> /dev/null
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}

_tulle_matrix() {
  if [[ $current == gen:* ]]; then
    local current=${current#gen:}
    compopt -o nospace 2> /dev/null
    _tulle_words "$tulle_generators" gen: :
  elif [[ -n $current && gen: == "$current"* ]]; then
    compopt -o nospace 2> /dev/null
    COMPREPLY+=(gen:)
  else
    _tulle_files
  fi
}

_tulle_list() {
  local before=
  if [[ $current == *,* ]]; then
    before=${current%,*},
    local current=${current##*,}
  fi
  _tulle_words "$1" "$before"
}

)";

constexpr const char* main_function = R"(_tulle() {
  local line=${COMP_LINE:0:COMP_POINT} words current= previous= command= word i
  local tulle_generators=GENERATORS
  read -ra words <<< "$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  COMPREPLY=()
  (( ${#words[@]} > 1 )) || return 0
  current=${words[-1]} previous=${words[-2]}
  for (( i = 1; i < ${#words[@]} - 1; ++i )); do  # bench, then bench spmv
    if [[ ${words[i]} == -- ]]; then  # what follows is a file, whatever it begins with
      _tulle_files
      return 0
    fi
    word=${command:+$command }${words[i]}
    if _tulle_is_command "$word"; then command=$word; fi
  done
  local whole=$current attached=
  if [[ $current == --*=* ]]; then
    previous=${current%%=*} attached=$previous= current=${current#*=}
  fi
  if [[ -z $command ]]; then
    if [[ $previous == -* ]] && _tulle_value '' "$previous"; then
      :
    elif [[ $current == -* ]]; then _tulle_words OPTIONS; else _tulle_words COMMANDS; fi
  elif ! { [[ $previous == -* ]] && _tulle_value "$command" "$previous"; }; then
    if [[ $current == -* ]]; then
      _tulle_options "$command"
    else
      _tulle_argument "$command"
    fi
  fi
  # What bash takes for the word begins behind the last : or =.
  local begun=
  [[ $COMP_WORDBREAKS == *:* && $whole == *:* ]] && begun=${whole%"${whole##*:}"}
  [[ $COMP_WORDBREAKS == *=* && $whole == *=* && ${whole##*:} == *=* ]] && begun=${whole%"${whole##*=}"}
  for i in "${!COMPREPLY[@]}"; do
    word=$attached${COMPREPLY[i]}
    COMPREPLY[i]=${word#"$begun"}
  done
}

complete -F _tulle tulle
)";

/// The call that offers what an argument or a value can be.
std::string offer(const completion& c) {
  if (c.generators && c.files) return "_tulle_matrix";
  if (c.generators) return "compopt -o nospace 2> /dev/null; _tulle_words \"$tulle_generators\" '' :";
  if (c.files) return "_tulle_files";
  if (c.words.empty()) return ":";  // there is a value, and nobody knows which
  return fmt::format("{} {}", c.listed ? "_tulle_list" : "_tulle_words", quoted_word(spaced(c.words)));
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  text.replace(text.find(what), what.size(), by);
}

std::string names_of(const command_description& command) {
  std::vector<std::string> names;
  for (const option_description& o : options_of(command)) names.insert(names.end(), o.names.begin(), o.names.end());
  return quoted_word(spaced(names));
}

/// The line of an option in _tulle_value; nothing of a flag.
std::string values_of(const command_description& command, const std::string& path, const option_description& o) {
  if (o.is_flag()) return {};
  std::vector<std::string> patterns;
  for (const std::string& name : o.names) patterns.push_back(quoted_word(path + ' ' + name));
  return fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), offer(completion_of(command, o)));
}

}  // namespace

std::string bash_completions(const command_description& tulle) {
  std::vector<std::string> paths;
  std::string options, values, arguments;
  const std::vector<std::string> commands = words_of(commands_of(tulle));
  for (const option_description& o : options_of(tulle)) values += values_of(tulle, "", o);
  for (const command_description& c : all_below(tulle)) {
    const std::string path = quoted_word(c.path());
    paths.push_back(path);
    options += fmt::format("    {}) _tulle_words {} ;;\n", path, names_of(c));
    for (const option_description& o : options_of(c)) {
      values += values_of(c, c.path(), o);
    }
    const std::vector<std::string> words = c.word() == "help" ? commands : words_of(commands_of(c));
    std::vector<std::string> offers;
    if (!words.empty()) offers.push_back("_tulle_words " + quoted_word(spaced(words)));
    if (!c.arguments.empty() && c.word() != "help") offers.push_back(offer(completion_of(c, c.arguments[0])));
    if (!offers.empty()) arguments += fmt::format("    {}) {} ;;\n", path, fmt::join(offers, "; "));
  }
  std::string end = main_function;
  replace(end, "GENERATORS", quoted_word(spaced(generator_names())));
  replace(end, "OPTIONS", names_of(tulle));
  replace(end, "COMMANDS", quoted_word(spaced(commands)));
  return fmt::format(
      "{}_tulle_is_command() {{\n  case $1 in\n    {}) return 0 ;;\n  esac\n  return 1\n}}\n\n"
      "# The options of command $1.\n_tulle_options() {{\n  case $1 in\n{}  esac\n}}\n\n"
      "# The values of option $2 of command $1; fails where it takes none.\n"
      "_tulle_value() {{\n  case \"$1 $2\" in\n{}    *) return 1 ;;\n  esac\n  return 0\n}}\n\n"
      "# The arguments of command $1.\n_tulle_argument() {{\n  case $1 in\n{}  esac\n}}\n\n{}",
      functions, fmt::join(paths, " | "), options, values, arguments, end);
}

}  // namespace tulle::cli
