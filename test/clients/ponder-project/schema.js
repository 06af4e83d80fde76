import { onchainTable } from 'ponder';

export const numbers = onchainTable('numbers', (table) => ({
  number: table.bigint().primaryKey(),
  block: table.bigint().notNull(),
  blockHash: table.hex().notNull(),
}));
