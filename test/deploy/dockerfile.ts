import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';

export interface Instruction {
  /** Name in capitals. */
  readonly name: string;
  readonly argument: string;
}

/** A COPY. Sources and target are as written. */
export interface Copy {
  /** The stage of the sources; undefined: the build context. */
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
}

/** The instructions of a Dockerfile, stage by stage: each begins with its FROM. */
export function readStages(file = 'Dockerfile'): Instruction[][] {
  const text = readFileSync(join(packageRoot, file), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '');
  const stages: Instruction[][] = [];
  for (const line of text.split('\n').filter((line) => line.trim() !== '')) {
    const [, name = '', argument = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`not an instruction: ${line}`);
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, argument });
  }
  return stages;
}

export function argumentsOf(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((instruction) => instruction.name === name).map(({ argument }) => argument);
}

export function copiesOf(stage: readonly Instruction[]): Copy[] {
  return argumentsOf(stage, 'COPY').map((argument) => {
    const words = argument.split(' ');
    const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
    const paths = words.filter((word) => !word.startsWith('--'));
    return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' };
  });
}

/** The variables of ENV instructions. */
export function environmentOf(stage: readonly Instruction[]): Record<string, string> {
  const pairs = argumentsOf(stage, 'ENV').flatMap((argument) => argument.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}

/** A command in exec form: the JSON array at the end of an instruction. */
export function commandOf(stage: readonly Instruction[], name: string): string[] {
  const argument = argumentsOf(stage, name).join('\n');
  return JSON.parse(argument.slice(argument.indexOf('['))) as string[];
}
