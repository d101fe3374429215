/** The end that answers, as a process of its own: library, folder of the peers, port. */
import { answerCalls, type Library } from './ends.ts';

const [library, folder, port] = process.argv.slice(2) as [Library, string, string];
process.send?.({ port: await answerCalls(library, folder, Number(port)) });
process.on('disconnect', () => process.exit());
