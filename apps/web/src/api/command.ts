import { type QueryClient, type QueryKey, useMutation, type UseMutationResult } from '@tanstack/react-query';
import type { Problem } from './request.ts';
import { useServices } from './services.ts';
import type { SessionService } from './session.ts';

/** A request that changes something, and how far it is. */
export type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

type Afterwards<Answer> = {
  /** Key of what is read again, also after a request that failed. */
  reads?: QueryKey;
  /** Puts the answer where it is read. */
  keep?: (queries: QueryClient, answer: Answer) => void;
};

/** `send` is the request; it may be several. */
export function useCommand<Answer, Input = void>(
  send: (session: SessionService, input: Input) => Promise<Answer>,
  { reads, keep }: Afterwards<Answer> = {},
): Command<Answer, Input> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (input) => send(session, input),
    // An answer may be a secret: it goes with the view that asked.
    gcTime: 0,
    onSuccess: (answer) => keep?.(queries, answer),
    onSettled: () => reads && queries.invalidateQueries({ queryKey: reads }),
  });
}
