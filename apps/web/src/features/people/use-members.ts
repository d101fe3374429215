import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import type { AddedMember, MadePassword, Member, NewMember, Role } from '@station/protocol/rest';
import type { Problem } from '../../api/problem.ts';
import { useServices } from '../../api/services.ts';

export const membersKey = ['members'];

/** A role that can be given; that of the owner cannot. */
export type GivenRole = Exclude<Role, 'owner'>;

type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

export function useAddMember(): Command<AddedMember, NewMember> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (body) => session.call('POST', '/api/station/members', { body }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: membersKey }),
  });
}

export function useChangeRole(userId: string): Command<Member, GivenRole> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (role) => session.call('PATCH', `/api/station/members/${userId}`, { body: { role } }),
    onSuccess: (changed) =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) =>
        all?.map((one) => (one.userId === userId ? changed : one)),
      ),
  });
}

export function useRemoveMember(userId: string): Command<void> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('DELETE', `/api/station/members/${userId}`),
    onSuccess: () =>
      queries.setQueryData<readonly Member[]>(membersKey, (all) => all?.filter((one) => one.userId !== userId)),
  });
}

export function useMakePassword(userId: string): Command<MadePassword> {
  const { session } = useServices();
  return useMutation({ mutationFn: () => session.call('POST', `/api/station/members/${userId}/password`) });
}
