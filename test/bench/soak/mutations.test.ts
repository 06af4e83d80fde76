import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { applyEdit } from '../../../bench/soak/mutation-hooks.ts';
import { mutations } from '../../../bench/soak/mutations.ts';
import { packageRoot } from '../../../gateway/config/package.ts';

const read = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');

describe('the mends that `npm run soak:mutations` takes out', () => {
  it.each(mutations)('$name: each edit changes one line of the gateway', ({ edits }) => {
    for (const edit of edits) {
      const source = read(`gateway/${edit.file}.ts`);
      const changed = applyEdit(source, edit).split('\n');
      expect(source.split('\n').filter((line, index) => line !== changed[index])).toHaveLength(1);
    }
  });

  it('an edit that does not apply fails', () => {
    const edit = { file: 'a', find: 'b', replace: 'c' };
    expect(applyEdit('abd', edit)).toBe('acd');
    for (const source of ['a', 'abb']) expect(() => applyEdit(source, edit)).toThrow('the text');
  });

  it('are a table of docs/measured/soak.md', () => {
    const page = read('docs/measured/soak.md');
    for (const { takenOut } of mutations) expect(page).toContain(`| ${takenOut} `);
  });
});
