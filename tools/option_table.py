#!/usr/bin/env python3
"""Make completions and the options of the manual page from the tables of the command.

    option_table.py TABLE bash|zsh|fish
    option_table.py TABLE man PAGE.scd

TABLE is what cli/table.c wrote. What an option's argument is called decides how it is completed: FILE is a
file, a|b|c is one of these, anything else is left to the user. An operand called FILE is a file; one called
COMMAND is the beginning of another command line, which is completed as if it stood alone.

In a page, @option COMMAND --NAME@ stands for the names and the argument of that option, and @synopsis@ for a
line for each command. A page that leaves out an option, or names one that is not there, is an error.

Standard library only, because this runs in every build.
"""

import pathlib
import re
import sys


class Option:
    def __init__(self, letter, name, argument, words):
        self.letter = letter
        self.name = name
        self.argument = argument
        self.words = words
        self.values = argument.split("|") if "|" in argument else []
        self.is_file = argument == "FILE"

    def names(self):
        return ([f"-{self.letter}"] if self.letter else []) + [f"--{self.name}"]


class Command:
    def __init__(self, name, operands, words):
        self.name = name
        self.operands = operands.replace("[", "").replace("]", "").split()
        self.shown = operands.split()
        self.words = words
        self.options = []

    def runs_a_command(self):
        return "COMMAND" in self.operands

    def operands_before_command(self):
        return self.operands.index("COMMAND") if self.runs_a_command() else 0

    def files(self):
        """For each operand that is a file: how many operands are before it."""
        return [place for place, operand in enumerate(self.operands) if operand == "FILE"]

    def literals(self):
        """The words for the first operand, if it is a keyword."""
        first = self.operands[0] if self.operands else ""
        return first.split("|") if first.islower() else []


class Table:
    def __init__(self, text):
        self.commands = []
        self.options = []  # before a command
        for line in text.splitlines():
            kind, *fields = line.split("\t")
            if kind == "command":
                self.commands.append(Command(*fields))
            elif kind == "option":
                of, *rest = fields
                option = Option(*rest)
                (self.command(of).options if of else self.options).append(option)
            else:
                raise ValueError(f"not a line of the table: {line}")
        if not self.commands:
            raise ValueError("the table has no command")

    def command(self, name):
        return next(command for command in self.commands if command.name == name)


def shell_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def filled_in(template, **parts):
    """The template with @{name} filled in. Other syntax of that kind belongs to the shell."""
    return re.sub(r"@\{(\w+)\}", lambda match: parts[match.group(1)], template)


def separate(table):
    """An expression for COMMAND:WORD, true if WORD is an option, or several, whose argument is the next word."""

    def of(command):
        takers = [option for option in command.options if option.argument]
        letters = "".join(option.letter for option in takers)
        flags = "".join(option.letter for option in command.options if not option.argument)
        words = [f"--{option.name}" for option in takers]
        words += [f"-[{flags}]*[{letters}]" if flags else f"-[{letters}]"] if letters else []
        return f"{command.name}:({'|'.join(words)})" if words else ""

    return "^(" + "|".join(filter(None, map(of, table.commands))) + ")$"


# bash. The words of readline are cut at : and = as well as at blanks; they are put together again first, and
# `starts` remembers where each began, because _command_offset counts the pieces.

BASH = r"""# bash completion for bowline, made from its table of options.

_bowline_values() {
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "${1// /$'\n'}" -- "$2"))
}

_bowline_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$1"))
}

# The argument of the option $1, begun as $2. False if it has none.
_bowline_argument() {
    case $command:$1 in
@{arguments}    *) return 1 ;;
    esac
}

# The command line that begins with the piece $1.
_bowline_other() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        COMPREPLY=($(compgen -c -- "$current"))
    else
        _bowline_files "$current"
    fi
}

_bowline() {
    local line=$COMP_LINE words=() starts=() piece i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
            words[${#words[@]} - 1]+=$piece
        else
            words+=("$piece")
            starts+=("$i")
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$piece"}
    done
    local last=$((${#words[@]} - 1)) command='' operands=0 options=1 word
    local current=${words[last]}
    COMPREPLY=()

    for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ ! $command ]]; then
            command=$word
            continue
        fi
        if ((options)) && [[ $word == -- ]]; then
            options=0
        elif ((options)) && [[ $word == -?* ]]; then
            # Its argument is the next word, unless it is in this one.
            if [[ $command:$word =~ @{separate} ]]; then
                [[ $word == --* ]] || word=-${word: -1}
                if ((i + 1 == last)); then
                    _bowline_argument "$word" "$current"
                    return
                fi
                ((i += 1))
            fi
        else
            options=0
            ((operands += 1))
            case $command:$operands in
@{others})
                [[ ${words[i + 1]} == -- ]] && ((i + 1 < last)) && ((i += 1))
                _bowline_other "${starts[i + 1]}"
                return
                ;;
            esac
        fi
    done

    if [[ ! $command ]]; then
        _bowline_values '@{first}' "$current"
        return
    fi
    if ((options)) && [[ $current == --*=* ]]; then
        _bowline_argument "${current%%=*}" "${current#*=}"
        return
    fi
    if ((options)) && [[ $current == -* ]]; then
        case $command in
@{options}        esac
        return
    fi
    case $command:$operands in
@{literals}    *:0) [[ $current == [./]* ]] && _bowline_files "$current" ;;
    esac
}

complete -F _bowline bowline
"""


def bash(table):
    arguments, others, options, literals = "", [], "", ""
    for command in table.commands:
        takers = [option for option in command.options if option.argument]
        for option in takers:
            names = " | ".join(f"{command.name}:{name}" for name in option.names())
            if option.values:
                action = f"_bowline_values {shell_quoted(' '.join(option.values))} \"$2\""
            elif option.is_file:
                action = '_bowline_files "$2"'
            else:
                action = ":"
            arguments += f"    {names}) {action} ;;\n"
        if command.runs_a_command():
            others.append(f"{command.name}:{command.operands_before_command()}")
        names = " ".join(name for option in command.options for name in option.names())
        if names:
            options += f"        {command.name}) _bowline_values {shell_quoted(names)} \"$current\" ;;\n"
        if command.literals():
            words = shell_quoted(" ".join(command.literals()))
            literals += f'    {command.name}:0) _bowline_values {words} "$current" ;;\n'
        for place in command.files():
            literals += f'    {command.name}:{place}) _bowline_files "$current" ;;\n'
    names = [command.name for command in table.commands]
    names += [name for option in table.options for name in option.names()]
    return filled_in(
        BASH,
        arguments=arguments,
        separate=separate(table),
        others="            " + " | ".join(others),
        options=options,
        literals=literals,
        first=" ".join(names),
    )


# zsh.

ZSH = r"""#compdef bowline
# zsh completion for bowline, made from its table of options.

# A name is anything; one that begins with / or . is a file.
_bowline_name() {
    if [[ $PREFIX == [./]* ]]; then
        _files
    else
        _message 'name of the lock'
    fi
}

# What comes behind the operands: a command line of its own, perhaps behind a --.
_bowline_other() {
    if [[ $words[1] == -- ]] && ((CURRENT > 1)); then
        shift words
        ((CURRENT -= 1))
    fi
    if ((CURRENT == 1)); then
        _command_names -e
    else
        _normal
    fi
}

@{functions}
_bowline() {
    local context state state_descr line
    typeset -A opt_args
    _arguments -S \
@{options}        '1: :->command' \
        '*:: :->rest'
    case $state in
    command)
        local -a commands=(
@{commands}        )
        _describe -t commands command commands
        ;;
    rest)
        (($+functions[_bowline_$words[1]])) && _bowline_$words[1]
        ;;
    esac
}

_bowline "$@"
"""


def zsh_text(text):
    """Inside [ ] or between colons of a specification."""
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


def zsh_specification(option):
    """One option for _arguments: it may stand once, under either name, but -h shuts everything else out."""
    names = option.names()
    shuts_out = "- *" if option.name in ("help", "version") else " ".join(names)
    if not option.argument:
        action, forms = "", names
    else:
        if option.values:
            action = f":{'|'.join(option.values)}:({' '.join(option.values)})"
        elif option.is_file:
            action = ":file:_files"
        else:
            action = f":{option.argument.lower()}: "
        forms = [name + ("=" if name.startswith("--") else "+") for name in names]
    return [shell_quoted(f"({shuts_out}){form}[{zsh_text(option.words)}]{action}") for form in forms]


def zsh(table):
    functions = ""
    for command in table.commands:
        words = [text for option in command.options for text in zsh_specification(option)]
        if command.literals():
            words.append(shell_quoted(f"1:{command.operands[0].lower()}:({' '.join(command.literals())})"))
        for place in command.files():
            words.append(shell_quoted(f"{place + 1}:file:_files"))
        for place in range(1, command.operands_before_command() + 1):
            words.append(shell_quoted(f"{place}:{command.operands[place - 1].lower()}:_bowline_name"))
        if command.runs_a_command():
            words.append(shell_quoted("*::: :_bowline_other"))
        # -A: no options behind the first operand, nor behind --.
        lines = " \\\n".join("        " + word for word in words)
        functions += f"_bowline_{command.name}() {{\n    _arguments -s -S -A '-*' \\\n{lines}\n}}\n\n"
    options = "".join(f"        {text} \\\n" for option in table.options for text in zsh_specification(option))
    commands = "".join(
        f"            {shell_quoted(command.name + ':' + zsh_text(command.words))}\n" for command in table.commands
    )
    return filled_in(ZSH, functions=functions.rstrip("\n") + "\n", options=options, commands=commands)


# fish.

FISH = r"""# fish completion for bowline, made from its table of options.

# What is known of the words before the cursor: a line "at COMMAND OPERANDS OPTIONS", where OPTIONS is 1 while
# options may follow; or a line "other" and, behind it, the words of another command line.
#
# Patterns are expressions here: what ? means to a glob depends on the version of fish.
function __bowline_where
    set -l words (commandline -opc)
    set -e words[1]
    set -l command
    set -l operands 0
    set -l options 1
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if test -z "$command"
            # What stands before a command is all that is there.
            string match -qr -- '^-' $word; and return
            set command $word
            continue
        end
        if test $options = 1; and test "$word" = --
            set options 0
        else if test $options = 1; and string match -qr -- '^-.' $word
            string match -qr -- '@{separate}' "$command:$word"; and set -e words[1]
        else
            set options 0
            set operands (math $operands + 1)
            switch "$command:$operands"
@{others}                    test "$words[1]" = --; and set -e words[1]
                    printf '%s\n' other $words
                    return
            end
        end
    end
    echo at "$command" $operands $options
end

function __bowline_at
    set -l where (__bowline_where)
    test "$where" = "at $argv"
end

function __bowline_options_of
    __bowline_at $argv 0 1
end

function __bowline_is_other
    set -l where (__bowline_where)
    test "$where[1]" = other
end

function __bowline_other
    set -l where (__bowline_where)
    set -e where[1]
    complete --do-complete=(string join ' ' -- (string escape -- $where) (commandline -ct))
end

function __bowline_name_is_file
    string match -qr -- '^[./]' (commandline -ct)
end

complete -c bowline -f
complete -c bowline -n __bowline_is_other -a '(__bowline_other)'
@{lines}"""


def fish(table):
    others = []
    lines = ""

    def option_line(option, where):
        nonlocal lines
        words = [f"complete -c bowline -n '{where}'"]
        words += [f"-s {option.letter}"] if option.letter else []
        words.append(f"-l {option.name}")
        if option.values:
            words.append(f"-x -a {shell_quoted(' '.join(option.values))}")
        elif option.is_file:
            words.append("-r -F")
        elif option.argument:
            words.append("-x")
        lines += " ".join([*words, "-d", fish_quoted(option.words)]) + "\n"

    for option in table.options:
        option_line(option, '__bowline_at "" 0 1')
    for command in table.commands:
        lines += f"complete -c bowline -n '__bowline_at \"\" 0 1' -a {command.name} -d {fish_quoted(command.words)}\n"
    for command in table.commands:
        for option in command.options:
            option_line(option, f"__bowline_options_of {command.name}")
        if command.literals():
            words = shell_quoted(" ".join(command.literals()))
            lines += f"complete -c bowline -n '__bowline_options_of {command.name}' -a {words}\n"
        for place in command.files():
            lines += f"complete -c bowline -n '__bowline_at {command.name} {place} 0' -F\n"
        if command.runs_a_command():
            others.append(f"{command.name}:{command.operands_before_command()}")
            for options in (0, 1):
                where = f"__bowline_at {command.name} 0 {options}; and __bowline_name_is_file"
                lines += f"complete -c bowline -n '{where}' -F\n"
    return filled_in(
        FISH,
        separate=separate(table),
        others="                case " + " ".join(others) + "\n",
        lines=lines,
    )


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# The manual page.


def man_argument(argument):
    if not argument:
        return ""
    return " " + "|".join(f"_{word}_" if word.isupper() else f"*{word}*" for word in argument.split("|"))


def man_head(option):
    return ", ".join(f"*{name}*" for name in option.names()) + man_argument(option.argument)


def man_synopsis(table):
    def operand(word):
        bare = word.strip("[].")
        text = f"_{bare}_" if bare.isupper() else f"*{bare}*"
        shown = word.replace(bare, text)
        return "[*--*] " + shown if bare == "COMMAND" else shown

    lines = []
    for command in table.commands:
        words = [f"*bowline {command.name}*"] + (["[_option_...]"] if command.options else [])
        lines.append(" ".join(words + [operand(word) for word in command.shown]))
    lines += [f"*bowline --{option.name}*" for option in table.options]
    return "++\n".join(lines)


def man(table, page):
    missing = {(command.name, option.name): option for command in table.commands for option in command.options}

    def head(match):
        option = missing.pop(match.groups(), None)
        if option is None:
            raise ValueError(f"{match.group()}: there is no such option, or it stands there twice")
        return man_head(option)

    text = re.sub(r"^@option (\w+) --([\w-]+)@$", head, page, flags=re.M)
    text = re.sub(r"^@synopsis@$", lambda match: man_synopsis(table), text, flags=re.M)
    if missing:
        lines = " ".join(f"@option {command} --{name}@" for command, name in missing)
        raise ValueError(f"the page says nothing of {lines}")
    return text


def main(argv):
    if len(argv) < 2 or argv[1] not in ("bash", "zsh", "fish", "man"):
        print("usage: option_table.py TABLE bash|zsh|fish|man [PAGE]", file=sys.stderr)
        return 2
    try:
        table = Table(pathlib.Path(argv[0]).read_text(encoding="utf-8"))
        if argv[1] == "man":
            made = man(table, pathlib.Path(argv[2]).read_text(encoding="utf-8"))
        else:
            made = {"bash": bash, "zsh": zsh, "fish": fish}[argv[1]](table)
    except ValueError as error:
        print(f"option_table: {error}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(made.encode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
