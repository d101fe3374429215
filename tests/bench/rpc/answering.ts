/** A program: the end that answers. Arguments: library, folder of the libraries, port. */
import { answerCalls, type Library } from './ends.ts';

const [library, folder, port] = process.argv.slice(2) as [Library, string, string];
process.send?.({ port: await answerCalls(library, folder, Number(port)) });
process.on('disconnect', () => process.exit());
