import { Hono } from 'hono';
import { db } from 'ponder:api';
import { numbers } from 'ponder:schema';

export default new Hono().get('/numbers', async (context) => {
  const rows = await db.select().from(numbers).orderBy(numbers.number);
  return context.json(
    rows.map(({ number, block, blockHash }) => ({ number: Number(number), block: Number(block), blockHash })),
  );
});
