"""The groups of species that were surveyed together, and the files of each with their published checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Species ``first`` to ``last`` of a region, surveyed at the same sites; ``categorical``: columns of its region.

    ``suffix``: ends the names of its survey files.
    """

    region: str
    name: str
    first: int
    last: int
    suffix: str = ""
    categorical: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, str, str, str]:
        """Presences, background, variables at survey sites, presence or absence there."""
        start, end = self.region.upper(), f"{self.suffix}.rds"
        return f"{start}train_po.rds", f"{start}train_bg.rds", f"{start}test_env{end}", f"{start}test_pa{end}"

    @property
    def species(self) -> tuple[str, ...]:
        """Names of its species: ``nsw08`` to ``nsw15``."""
        return tuple(f"{self.region}{number:02d}" for number in range(self.first, self.last + 1))


_NSW = {"ba": 7, "db": 15, "nb": 17, "ot": 25, "ou": 33, "rt": 40, "ru": 46, "sr": 54}
GROUPS = (
    Group("awt", "bird", 1, 20, "_bird"),
    Group("awt", "plant", 21, 40, "_plant"),
    Group("can", "bird", 1, 20, categorical=("ontveg",)),
    *(
        Group("nsw", name, first + 1, last, f"_{name}", ("vegsys",))
        for (name, last), first in zip(_NSW.items(), (0, *_NSW.values()), strict=False)
    ),
    Group("nz", "plant", 1, 52, categorical=("age", "toxicats")),
    Group("sa", "plant", 1, 30),
    Group("swi", "tree", 1, 30, categorical=("calc",)),
)
#: Species -> its group.
GROUP_OF = {species: group for group in GROUPS for species in group.species}

#: File -> MD5, as the R package 1.1-0 publishes it.
MD5 = {
    "AWTtest_env_bird.rds": "cd60df05b2e40563d4621c8de0c63d41",
    "AWTtest_env_plant.rds": "abd63e605234f750ee32712c66da744a",
    "AWTtest_pa_bird.rds": "a5a7326f474d24dade32eb32abb26143",
    "AWTtest_pa_plant.rds": "e24081e8192e4b898dc9daad44666429",
    "AWTtrain_bg.rds": "1bd89832ca9c14e8ace95717f352a701",
    "AWTtrain_po.rds": "8b52a72f5dd2a4e18682df235700b088",
    "CANtest_env.rds": "3201ccbbc23c7652edf3b2db357f328a",
    "CANtest_pa.rds": "1f85b77f97c9fe56103cd35f5a653e29",
    "CANtrain_bg.rds": "6df22c6f9e0c320664b03ef1c2490a48",
    "CANtrain_po.rds": "21389c4cbac0f8264b985fd29907f6cb",
    "NSWtest_env_ba.rds": "ef18ea73aef74f5e73f76f0de8513650",
    "NSWtest_env_db.rds": "740aa1f90c66403edab3e14c8a1ec1fc",
    "NSWtest_env_nb.rds": "67135b550154b7231c9a5f9495fbf559",
    "NSWtest_env_ot.rds": "226ad88b61b916081497af31086b46d1",
    "NSWtest_env_ou.rds": "9232bc9b310cfe5b9e85cb0ae0966e7c",
    "NSWtest_env_rt.rds": "4ceb00d69b20910b6e2e414923a2d353",
    "NSWtest_env_ru.rds": "0d9769c9119c74bc912e30e0f6f2396f",
    "NSWtest_env_sr.rds": "5ac1ee252ebf4930feaeff036b09c1b7",
    "NSWtest_pa_ba.rds": "a73cb3d17b4c6c4005cecd3a6cf393f7",
    "NSWtest_pa_db.rds": "b8d3b554dc88add761dfba6658db3ab2",
    "NSWtest_pa_nb.rds": "f15dc4ae26b8f115c0b437b21bbe068e",
    "NSWtest_pa_ot.rds": "6af1ae9a9bb375e1583c24d3b29b3c84",
    "NSWtest_pa_ou.rds": "9874318857a06fd86f199eb46163d9d9",
    "NSWtest_pa_rt.rds": "83897d82d1cfafd8456508ee5c2c8a66",
    "NSWtest_pa_ru.rds": "7c481042cf72dc29e6d188c3db37e922",
    "NSWtest_pa_sr.rds": "8542be8a1d0375fb73afc841d9a0d056",
    "NSWtrain_bg.rds": "83a797d102cf853cdffad92fbd987944",
    "NSWtrain_po.rds": "17836b546af1e6c8eb19d432ac902c53",
    "NZtest_env.rds": "1461af6b105cd1d4eb8f889509739c28",
    "NZtest_pa.rds": "267044d484251198e96950a86d40e6a3",
    "NZtrain_bg.rds": "fb42c66d6741f65bbbd151c1414d1c9e",
    "NZtrain_po.rds": "67aa59d1b52901f83afe5812c1d39b98",
    "SAtest_env.rds": "4303afbe58a87d94d20e8b7107a0cac8",
    "SAtest_pa.rds": "5b83dde9bed6a9c63ea0a8543bb44c67",
    "SAtrain_bg.rds": "408b61f927309aea9c37861bdbd7be79",
    "SAtrain_po.rds": "aa9d62c35ef3a9500ee5f83bc505be7a",
    "SWItest_env.rds": "b2175103af1a6ad3eda92c481a867557",
    "SWItest_pa.rds": "89d92ca796aec7fe8550872d0662c1e3",
    "SWItrain_bg.rds": "7bd9c25cd2f7d4aa1a7d4d1fee7af807",
    "SWItrain_po.rds": "a5e50b964fe2b2f0451a6499512e54ec",
}
