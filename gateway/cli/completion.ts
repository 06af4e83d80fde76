import type { Command } from 'commander';

export const shells = ['bash', 'zsh'] as const;

/** Makes a script that completes the commands and options of the program; zsh runs it with bashcompinit. */
export function completionScript(program: Command, shell: (typeof shells)[number]): string {
  const places = placesOf(program, '');
  const paths = places.map(({ path }) => path).filter((path) => path !== '');
  const cases = places.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`);
  return `${shell === 'zsh' ? 'autoload -U +X compinit bashcompinit && compinit && bashcompinit\n' : ''}_gatehouse() {
  local path='' words='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$path $word" in
      ${paths.map((path) => `'${path}'`).join('|')}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gatehouse gatehouse gatehouse-rpc
`;
}

interface Place {
  /** The names of the commands, each after a space: ` keys create`. */
  readonly path: string;
  readonly words: readonly string[];
}

function placesOf(command: Command, path: string): Place[] {
  const subcommands = command.commands.map((one) => one.name());
  const options = command.options.flatMap(({ long }) => long ?? []);
  const below = command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`));
  return [{ path, words: [...subcommands, ...options, '--help'] }, ...below];
}
